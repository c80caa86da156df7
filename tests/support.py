"""What the tests share: servers and proxies in processes of their own, sockets, invented tools."""

import fcntl
import io
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2
import msgspec

from evals.programs import answers as answers
from evals.programs import free_port as free_port
from tests.prepared import STARTER, Started
from toolscout import Engine
from toolscout.cli import main
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.tool_list import ToolList
from toolscout.ranking.ask import Ask, Decision

SEARCH = "/v1/tool-discovery/search"
GATEWAY = "/api/compress/tool-discovery/"

PATIENCE_S = 30.0
"""How long anything may take before a test calls it broken; nothing is asserted on speed."""

TOOLS: list[dict[str, Any]] = [
    {"name": "search_code", "description": "Search the source code of a repository"},
    {"name": "read_file", "description": "Read a text file from disk"},
    {"name": "send_email", "description": "Send a message to an e-mail address"},
    {"name": "get_weather", "description": "Current weather and forecast for a city"},
    {"name": "create_issue", "description": "Open a bug report in the tracker"},
    {"name": "list_meetings", "description": "Show the meetings in a calendar"},
    {"name": "resize_image", "description": "Scale a picture to another size"},
    {"name": "translate_text", "description": "Translate a text into another language"},
]


class Clock:
    """Shows the time that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def crowd(count: int, word: str = "gadget") -> list[dict[str, Any]]:
    """Tools that differ from each other and resemble nothing in `TOOLS`."""
    return [
        {
            "name": f"{word}_{number}_spin",
            "description": f"Spin {word} number {number} around axis {number % 7}",
            "definition": {
                "input_schema": {"properties": {f"axis_{number}": {"description": "which axis"}}}
            },
        }
        for number in range(count)
    ]


@dataclass
class Server:
    """A service that answers, and a client that speaks to it."""

    folder: Path
    client: httpx2.Client
    url: str

    @property
    def stdout(self) -> str:
        return (self.folder / "stdout").read_text("utf-8", "replace")

    def async_client(self, **headers: str) -> httpx2.AsyncClient:
        """Return an asynchronous client, which sends these headers."""
        return httpx2.AsyncClient(
            base_url=self.url, timeout=PATIENCE_S, trust_env=False, headers=headers
        )

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return self.client.get(path, headers=headers)

    def post(
        self, body: Any, path: str = SEARCH, headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        """Post a body: bytes as they are, anything else as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.send("POST", path, content, headers)

    def send(
        self, method: str, path: str, content: bytes = b"", headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        """Send a request with a body that says that it is JSON."""
        sent = {"content-type": "application/json"} | (headers or {})
        return self.client.request(method, path, content=content, headers=sent)

    def search(
        self, pattern: str = "read a file", tools: Sequence[Any] | None = None, **fields: Any
    ) -> httpx2.Response:
        """Search with a budget that never steps down, unless the fields say otherwise."""
        body = {"pattern": pattern, "latency_budget_ms": 60_000, **fields}
        if not fields.get("catalog"):
            body["tools"] = TOOLS if tools is None else tools
        headers = body.pop("headers", None)
        return self.post(body, headers=headers)

    def names(
        self, pattern: str = "read a file", tools: Sequence[Any] | None = None, **fields: Any
    ) -> list[str]:
        """Return the names a search selects."""
        response = self.search(pattern, tools, **fields)
        assert response.status_code == 200, response.text
        selected: list[str] = response.json()["selected_names"]
        return selected

    def metric(self, sample: str) -> float:
        """One sample of `/metrics`, by its name with labels; 0 when it is not there yet."""
        for line in self.get("/metrics").text.splitlines():
            if line.startswith(sample + " "):
                return float(line.rpartition(" ")[2])
        return 0.0


class Process(Server):
    """A service in a process of its own."""

    def __init__(
        self,
        port: int,
        process: Started,
        folder: Path,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.port = port
        self.process = process
        self.url = f"{'https' if tls else 'http'}://{host}:{port}"
        super().__init__(folder, self.new_client(tls), self.url)

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text("utf-8", "replace")

    def new_client(self, tls: ssl.SSLContext | None) -> httpx2.Client:
        """Return a client with connections of its own."""
        verify = tls or False
        return httpx2.Client(base_url=self.url, timeout=PATIENCE_S, trust_env=False, verify=verify)

    def connect(self) -> socket.socket:
        """Return a bare connection, for bytes no client library would send."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """Return the exit status."""
        return self.process.wait(PATIENCE_S)

    def log(self) -> str:
        """Stop the process, and return what it wrote."""
        self.process.terminate()
        self.wait()
        return self.stdout + self.stderr


def raw_request(
    body: bytes, path: str = SEARCH, method: str = "POST", headers: Sequence[str] = ()
) -> bytes:
    """Return a request as bytes; the length is declared unless a header says how it comes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    if not any("chunked" in header or "Content-Length" in header for header in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


def read_response(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, headers (lower case) and body of one response."""
    response = HTTPResponse(connection)
    response.begin()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return response.status, headers, response.read()


def exchange(server: Process, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes on a connection of their own and read the response."""
    with server.connect() as connection:
        connection.sendall(request)
        return read_response(connection)


def environment(**settings: str) -> dict[str, str]:
    """Return this environment without any setting of the service, and with the given ones."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOOLSCOUT_")}
    return kept | settings


def toolscout(
    *arguments: str, stdin: str | None = None, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end in this process; none may begin to serve."""
    out, err = io.StringIO(), io.StringIO()
    serves = AssertionError("it began to serve")
    with (
        patch.dict(os.environ, environment(**settings), clear=True),
        patch("uvicorn.Server.run", side_effect=serves),
        patch("sys.stdin", io.TextIOWrapper(io.BytesIO((stdin or "").encode()))),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            status: Any = main(list(arguments))
        except SystemExit as ended:
            status = ended.code
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def ran(
    command: Sequence[object], status: int | None = 0, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, which must be with a status if one is given."""
    pieces = [str(piece) for piece in command]
    done = subprocess.run(pieces, capture_output=True, text=True, check=False, **options)
    assert status in (None, done.returncode), done.stdout[-4_000:] + done.stderr[-4_000:]
    return done


@contextmanager
def started(
    folder: Path,
    port: int,
    *command: str,
    before: Sequence[str] = (),
    tls: ssl.SSLContext | None = None,
    log: int | None = None,
    host: str = "127.0.0.1",
    **variables: str,
) -> Iterator[Process]:
    """Yield a Python program that listens at a port, stopped at the end whatever happens.

    `before` stands before its command, and becomes it; `tls` is its client's; `log` is a pipe that
    takes its log, and is closed here; `host` is where it is reached; `variables` are those of its
    environment.
    """
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("ab") as err:
        program = [*before, sys.executable, *command]
        target = out if log is None else log
        process = STARTER.start(program, target, err, environment(**variables))
    if log is not None:
        os.close(log)
    server = Process(port, process, folder, tls, host)
    try:
        yield server
    finally:
        server.client.close()
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def running(folder: Path, *flags: str, **options: Any) -> Iterator[Process]:
    """Yield a service that is ready; `options` are settings, or those of `started`.

    The event loop may be late by as much as only a hang makes it, unless a setting says otherwise:
    other tests may keep both cores busy.
    """
    options = {"TOOLSCOUT_MAX_LAG_MS": "30000"} | options
    drain = [] if "--drain-s" in flags else ["--drain-s", "0"]
    port = free_port()
    command = ["-m", "toolscout", "serve", "--port", str(port), *flags, *drain]
    with started(folder, port, *command, **options) as server:
        until(lambda: _ready(server))
        yield server


def _ready(server: Process) -> bool:
    assert server.process.poll() is None, f"the server did not start:\n{server.stderr}"
    try:
        return server.get("/readyz").status_code == 200
    except httpx2.TransportError:
        return False


def until(fact: Callable[[], bool]) -> None:
    """Ask again and again until something is so; fail when it does not come to be."""
    deadline = time.monotonic() + PATIENCE_S
    while not fact():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.01)


@contextmanager
def one_by_one() -> Iterator[None]:
    """Have processes that run tests side by side enter this block one after the other."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


ENGINE = Engine()
"""One engine with the bundled model, for searches in process."""


def compiled(tools: Sequence[Any]) -> Catalog:
    """Return a catalog from tools as they come over the wire."""
    tool_list = ToolList.decode(msgspec.json.encode(tools))
    return ENGINE.compiler.compile(tool_list, CatalogCache().tools("test"))


def select(tools: Sequence[Any] | Catalog, pattern: str, **fields: Any) -> Decision:
    """Return what the service would decide, without the wire around it."""
    catalog = tools if isinstance(tools, Catalog) else compiled(tools)
    return ENGINE.decide(catalog, Ask(pattern=pattern, **fields))


def problem_of(response: Any, status: int, code: str) -> dict[str, Any]:
    """Return the problem document of an error answer, after checking what all of them must be."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert len(response.content) <= 2_048
    body: dict[str, Any] = response.json()
    assert body["status"] == status
    assert body["code"] == code
    assert body["type"].endswith(code)
    assert body["title"]
    assert body["detail"]
    assert body["request_id"]
    assert body["request_id"] == response.headers["x-request-id"]
    for error in body.get("errors", []):
        assert set(error) == {"path", "message"}
    return body
