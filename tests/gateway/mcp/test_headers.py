"""Parameters that a server of 2026-07-28 wants in headers, too (`x-mcp-header`)."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.mcp.hosts import inside, text_of

VERSION = "2026-07-28"
COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
HEADER = "Mcp-Param-Region"


def tool(name: str, header: str) -> dict[str, Any]:
    region = {"type": "string", "x-mcp-header": header}
    schema = {"type": "object", "properties": {"region": region}}
    return {"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": True}}


@contextmanager
def weather(*odd: Any) -> Iterator[str]:
    """Yield the URL of a server with a tool whose region is in a header, and odd entries."""
    tools = [tool("forecast", "Region"), tool("bad_header", "no header!"), *odd]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

        def do_GET(self) -> None:
            self.answer(405, b"")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = self.result(request["method"], request.get("params", {}))
            status = 400 if request["method"] == "initialize" else 200
            body = {"jsonrpc": "2.0", "id": request.get("id"), **answer}
            self.answer(status, json.dumps(body).encode())

        def result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            if method == "initialize":
                return {"error": {"code": -32022, "message": "", "data": {"supported": [VERSION]}}}
            if method == "server/discover":
                capable = {"supportedVersions": [VERSION], "capabilities": {"tools": {}}}
                return {"result": {**capable, **COMPLETE}}
            if method == "tools/list":
                return {"result": {"tools": tools, **COMPLETE}}
            if self.headers.get(HEADER) != params["arguments"]["region"]:
                return {"error": {"code": -32020, "message": "header mismatch"}}
            content = [{"type": "text", "text": "sunny"}]
            return {"result": {"resultType": "complete", "content": content}}

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()


@pytest.mark.parametrize("odd", [(), ({"name": 5},)], ids=["plain", "with an odd entry"])
def test_a_parameter_goes_into_its_header_whatever_else_is_in_the_list(
    tmp_path: Path, odd: tuple[Any, ...]
):
    with weather(*odd) as url, inside(tmp_path, {"air": {"url": url}}) as office:
        assert text_of(office.call("air__forecast", region="eu")) == "sunny"
        assert office.names() == {"air__forecast"}
