"""A scripted peer on a real loopback socket: says exactly the bytes a test wants, and counts."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

TOOLS: list[dict[str, Any]] = [
    {"name": "search_code", "description": "Search for code patterns"},
    {"name": "read_file", "description": "Read file contents"},
    {"name": "deploy_app", "description": "Deploy application to production"},
    {"name": "send_email", "description": "Send an email notification"},
    {"name": "create_db", "description": "Create database table"},
    {"name": "run_tests", "description": "Run test suite"},
]
NAMES = [tool["name"] for tool in TOOLS]

Script = Callable[["Exchange"], None]


class Exchange:
    """One request that came in, and the connection to answer it on."""

    def __init__(self, connection: socket.socket, stopping: threading.Event) -> None:
        self.connection = connection
        self.stopping = stopping
        """Set when the test is over: what waits on it holds nobody up."""
        self.number = 0
        """How many requests came before it, to the whole peer."""
        self.path = ""
        self.headers: dict[str, str] = {}
        self.body = b""
        self.keep = True

    def read(self) -> bool:
        """Read one request; False when the connection was closed instead."""
        data = b""
        while b"\r\n\r\n" not in data:
            chunk = self.connection.recv(65_536)
            if not chunk:
                return False
            data += chunk
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.path = first.split(" ")[1]
        self.headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        if "transfer-encoding" in self.headers:
            self.body = self._chunked(body)
            return True
        whole = bytearray(body)  # which may have tens of megabytes
        while len(whole) < int(self.headers.get("content-length", 0)):
            whole += self._more()
        self.body = bytes(whole)
        return True

    def _chunked(self, data: bytes) -> bytes:
        """Read a chunked body without trailers."""
        body = b""
        while True:
            while b"\r\n" not in data:
                data += self._more()
            line, _, data = data.partition(b"\r\n")
            size = int(line, 16)
            while len(data) < size + 2:
                data += self._more()
            if size == 0:
                break
            body, data = body + data[:size], data[size + 2 :]
        return body

    def _more(self) -> bytes:
        data = self.connection.recv(1_000_000)
        if not data:
            raise ConnectionResetError("closed amid a body")
        return data

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def close(self) -> None:
        self.keep = False

    def reset(self) -> None:
        """Drop the connection with a TCP reset instead of a goodbye."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.keep = False

    def answer(
        self, body: bytes = b"", status: int = 200, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        lines = [f"HTTP/1.1 {status} Scripted", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers]
        self.send("\r\n".join([*lines, "", ""]).encode() + body)

    def select(self, *names: str, headers: Sequence[tuple[str, str]] = ()) -> None:
        """Answer as the service would."""
        self.answer(json.dumps({"selected_names": names}).encode(), headers=headers)


class Peer:
    """Serves one script to every request, each connection in a thread of its own."""

    def __init__(self, script: Script, takes_feedback: bool = False) -> None:
        self.script = script
        self.takes_feedback = takes_feedback
        """Whether the script answers feedback too; else it is taken without a trace."""
        self.requests: list[Exchange] = []
        self.connections = 0
        self.ended = 0
        """How many requests the script has seen to their end."""
        self.stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_idle(self) -> bool:
        """Whether every connection that came is closed."""
        with self._lock:
            return not self._open

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self.connections += 1
                self._open.add(connection)
                thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
                self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while True:
                exchange = Exchange(connection, self.stopping)
                if not exchange.read():
                    break
                if "/feedback" in exchange.path and not self.takes_feedback:
                    exchange.answer(b'{"accepted": 0}', status=202)
                    continue
                with self._lock:
                    exchange.number = len(self.requests)
                    self.requests.append(exchange)
                self.script(exchange)
                self.ended += 1
                if not exchange.keep:
                    break
        with self._lock:
            self._open.discard(connection)

    def stop(self) -> None:
        self.stopping.set()
        # An accept that is under way holds the port until someone knocks.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)


@contextmanager
def peer(script: Script, takes_feedback: bool = False) -> Iterator[Peer]:
    """Yield a peer that follows a script as long as the block lasts."""
    started = Peer(script, takes_feedback)
    try:
        yield started
    finally:
        started.stop()
