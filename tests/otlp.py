"""A receiver of OTLP over HTTP, as a collector is one, that keeps the spans it was sent."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.support import until


@dataclass
class Receiver:
    """What arrived, and where to send it."""

    port: int
    bodies: list[bytes] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[ExportTraceServiceRequest]:
        return [ExportTraceServiceRequest.FromString(body) for body in list(self.bodies)]

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def resource(self) -> dict[str, object]:
        """Return the attributes of the resource that the first spans came from."""
        return values(self.requests[0].resource_spans[0].resource)

    def span(self, request_id: str) -> Span:
        """Return the one span of a request, once it is here."""

        def found() -> list[Span]:
            return [s for s in self.spans if values(s).get("toolscout.request_id") == request_id]

        until(lambda: bool(found()))
        assert len(found()) == 1
        return found()[0]


def values(owner: object) -> dict[str, object]:
    """Return the attributes of a span, an event or a resource."""
    return {
        pair.key: getattr(pair.value, pair.value.WhichOneof("value"))
        for pair in owner.attributes  # type: ignore[attr-defined]
    }


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Listen until the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            receiver.paths.append(self.path)
            receiver.headers.append(dict(self.headers))
            receiver.bodies.append(body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(server.server_port)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
