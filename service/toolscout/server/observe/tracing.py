"""OpenTelemetry: one server span per request, with an event at the end of each phase.

Nothing here is imported unless `tracing` is on. A span is made when its request is over: a request
calls no other service, so nothing needs the span earlier. Destination, sampling and resource are
read from the standard `OTEL_*` variables; spans are sent by OTLP over HTTP with protobuf, in
batches, from a separate thread.
"""

import os
import threading
from collections.abc import Iterator
from time import time_ns

import msgspec
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode, format_trace_id
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from toolscout import __version__
from toolscout.errors import ConfigurationError
from toolscout.ranking.ask import Decision
from toolscout.ranking.judge import score
from toolscout.server.http.request import LimitedRequest
from toolscout.server.observe.record import RequestRecord, Trace

PROTOCOL = "http/protobuf"

WITH_NAMES = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable by which instrumentations of models are allowed to record content: here, names."""

MAX_AGENT_CHARS = 200

CLOSE_S = 2.0
"""Seconds for which an unanswering collector is retried when the service stops."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
_SERVER_ERROR = 500
_NS = 1_000_000_000


class Tracing:
    """Makes spans and passes them to the exporter."""

    def __init__(self) -> None:
        """Read the environment.

        Raises:
            ConfigurationError: it names an unavailable exporter, or a value is malformed.
        """
        check_environment()
        base = Resource({"service.name": "toolscout", "service.version": __version__})
        try:
            resource = Resource.create().merge(base).merge(OTELResourceDetector().detect())
            self._provider = TracerProvider(resource=resource)
            self._exporter = OTLPSpanExporter()
        except (ValueError, OSError) as error:
            message = f"tracing: the OTEL_* variables are malformed: {error}"
            raise ConfigurationError(message) from None
        if os.environ.get("OTEL_TRACES_EXPORTER") != "none":
            self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer("toolscout", __version__)
        self._extract = TraceContextTextMapPropagator().extract

    def record(self, record: RequestRecord, route: str) -> str:
        """Make the span of a request that ends now.

        Returns:
            The trace's id in hexadecimal digits; empty without a trace.
        """
        request = record.request
        ended = time_ns()
        started = ended - int(record.seconds * _NS)
        carrier = {
            name: request.header(name.encode()).decode("latin-1")
            for name in ("traceparent", "tracestate")
            if request.header(name.encode())
        }
        method = request.method if request.method in _METHODS else "_OTHER"
        span = self._tracer.start_span(
            f"{'HTTP' if method == '_OTHER' else method} {route}",
            self._extract(carrier) if carrier else None,
            SpanKind.SERVER,
            {"http.request.method": method, "http.route": route, "url.path": route},
            start_time=started,
        )
        if span.is_recording():
            span.set_attributes(_describe_request(record))
            for phase, spent, at in _list_phases(request, record.trace):
                moment = started + int(at * _NS)
                span.add_event(phase, {"toolscout.duration_ms": round(spent * 1_000, 3)}, moment)
            if record.status >= _SERVER_ERROR:
                span.set_attribute("error.type", record.outcome)
                span.set_status(Status(StatusCode.ERROR))
        span.end(ended)
        context = span.get_span_context()
        return format_trace_id(context.trace_id) if context.is_valid else ""

    def close(self) -> None:
        """Send the remaining spans. A hanging attempt takes its `OTEL_EXPORTER_OTLP_TIMEOUT`."""
        impatience = threading.Timer(CLOSE_S, self._exporter.shutdown)
        impatience.daemon = True
        impatience.start()
        self._provider.shutdown()
        impatience.cancel()


def check_environment() -> None:
    """Check that the environment names an available exporter.

    Raises:
        ConfigurationError: it names another one.
    """
    exporter = os.environ.get("OTEL_TRACES_EXPORTER") or "otlp"
    if exporter not in ("otlp", "none"):
        raise ConfigurationError(f"OTEL_TRACES_EXPORTER: expected otlp or none, got {exporter!r}")
    for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        protocol = os.environ.get(name) or PROTOCOL
        if protocol != PROTOCOL:
            raise ConfigurationError(f"{name}: expected {PROTOCOL}, got {protocol!r}")


def _describe_request(record: RequestRecord) -> dict[str, AttributeValue]:
    """Return the attributes of a request, without text of a tool or the pattern."""
    request = record.request
    trace = record.trace
    attributes: dict[str, AttributeValue] = {
        "url.scheme": request.scope["scheme"],
        "network.protocol.version": request.scope["http_version"],
        "http.request.body.size": request.bytes_in,
        "toolscout.call": record.call,
        "toolscout.outcome": record.outcome,
        "toolscout.request_id": request.request_id,
    }
    optional: dict[str, AttributeValue] = {
        "user_agent.original": request.header(b"user-agent")[:MAX_AGENT_CHARS].decode("latin-1"),
        "http.response.status_code": record.status,
        "toolscout.tenant": trace.tenant,
    }
    attributes |= {name: value for name, value in optional.items() if value}
    if trace.catalog:
        attributes["toolscout.cache"] = trace.cache
        attributes["toolscout.catalog"] = trace.catalog
        attributes["toolscout.tools.offered"] = trace.offered
        attributes["toolscout.tools.unique"] = trace.unique
    if trace.decision is not None:
        attributes["toolscout.ranker"] = trace.decision.ranking.ranker
        attributes["toolscout.degraded"] = trace.decision.degraded or "no"
        attributes["toolscout.tools.selected"] = len(trace.decision.names)
        attributes["gen_ai.operation.name"] = "retrieval"
        attributes["gen_ai.data_source.id"] = trace.catalog
        attributes["gen_ai.retrieval.top_k"] = trace.top_k
        if os.environ.get(WITH_NAMES, "").lower() == "true":
            attributes["gen_ai.retrieval.documents"] = _describe_documents(trace.decision)
    return attributes


def _describe_documents(decision: Decision) -> str:
    """Return the selected tools with calibrated scores as JSON: spans have no structure."""
    rows = zip(decision.names, decision.rows, strict=True)
    tools = [{"id": name, "score": round(score(decision.ranking, row), 4)} for name, row in rows]
    return msgspec.json.encode(tools).decode()


def _list_phases(request: LimitedRequest, trace: Trace) -> Iterator[tuple[str, float, float]]:
    """Yield each phase: its name, its seconds, and its end in seconds after the headers.

    Phases follow one another from the arrival of the body, in the order of recording.
    """
    at = request.arrived - request.started
    if request.arrived:
        yield "receive", at, at
    for phase, spent in trace.phases.items():
        at += spent
        yield phase, spent, at
