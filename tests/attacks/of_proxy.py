"""Attacks on the proxy: by its callers, and by the provider behind it."""

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path

from tests.attacks.attack import FLOOD, Attack, at_once, half_more
from tests.attacks.stalls import HEALTH
from tests.attacks.test_edge import FLOODS, MIB, pour
from tests.client.upstream import Exchange, peer
from tests.gateway.proxies import proxy
from tests.support import Process, until
from toolscout.gateway.commands import MAX_HELD_BYTES

CHAT = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
JSON = b"Content-Type: application/json\r\n"
STREAM = b"Content-Type: text/event-stream\r\n"


MOST_READ = 64 * MIB

HELD_MIB = MAX_HELD_BYTES // MIB
"""What the proxy may hold of all requests together."""
"""Bytes of an answer that are read: more would only hold up the probes of this process."""


def _head(length: int) -> bytes:
    return CHAT + JSON + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % length


def _tools(count: int, text: str = "Does a thing") -> bytes:
    tools = [{"type": "function", "function": {"name": f"t{n}"}} for n in range(count)]
    message = {"role": "user", "content": text}
    return json.dumps({"model": "m", "messages": [message], "tools": tools}).encode()


BODIES: dict[str, Callable[[], bytes]] = {
    "10,000 tools": partial(_tools, 10_000),
    "100,000 tools": partial(_tools, 100_000),
    "a message of 120 MB": lambda: _tools(20, "x" * 120 * MIB),
    "a message of 8 MB": lambda: _tools(20, "é" * 4 * MIB)[: 8 * MIB],
    "60 MB of brackets": lambda: b'{"tools":[' + b"[]," * (20 * MIB) + b"[]]}",
    "8 MB of brackets": lambda: b'{"tools":[' + b"[]," * (2 * MIB) + b"[]]}",
    "deep brackets": lambda: b'{"tools":' + b"[" * (4 * MIB) + b"]" * (4 * MIB) + b"}",
    "not UTF-8": lambda: b'{"tools":[{"name":"' + b"\xff" * MIB + b'"}]}',
}

EVENT = b'data: {"choices":[{"delta":{"content":"xxxxxxxx"}}]}\n\n'

ANSWERS: dict[str, tuple[bytes, Callable[[], Iterator[bytes]]]] = {
    "a bomb": (
        JSON + b"Content-Encoding: gzip\r\n",
        lambda: iter([gzip.compress(b'{"a":"' + b"x" * 400 * MIB)]),
    ),
    "a bomb of lists": (
        JSON + b"Content-Encoding: gzip\r\n",
        lambda: iter([gzip.compress(b'{"choices":[' + b"[]," * (2 * MIB) + b"1]}")]),
    ),
    "a bomb of choices": (
        JSON + b"Content-Encoding: gzip\r\n",
        lambda: iter([gzip.compress(b'{"choices":[' + b'{"message":{}},' * 39_000 + b"1]}")]),
    ),
    "a bomb of events": (
        STREAM + b"Content-Encoding: gzip\r\n",
        lambda: iter([gzip.compress(EVENT * 2_000_000)]),
    ),
    "JSON without end": (JSON, lambda: (b'{"a":"', *[b"x" * MIB] * 200).__iter__()),
    "a line without end": (STREAM, lambda: (b"data: ", *[b"x" * MIB] * 200).__iter__()),
    "events without end": (
        STREAM,
        lambda: iter([EVENT * 20_000] * 150),
    ),
    "a status of 999": (b"", lambda: iter(())),
}


def _provider(exchange: Exchange) -> None:
    """Answer as the name in the question says; close the connection after it."""
    name = exchange.headers.get("x-answer", "")
    exchange.close()
    if name not in ANSWERS:
        exchange.answer(b"{}", headers=[("Content-Type", "application/json")])
        return
    head, pieces = ANSWERS[name]
    status = 999 if name == "a status of 999" else 200
    exchange.send(b"HTTP/1.1 %d Scripted\r\n%bConnection: close\r\n\r\n" % (status, head))
    for piece in _made(name) if name.startswith("a bomb") else pieces():
        exchange.send(piece)


@cache
def _made(name: str) -> list[bytes]:
    """Return what takes long to make: it would hold the lock of the probes."""
    return list(ANSWERS[name][1]())


class _Drain:
    """A provider that reads whatever comes, and answers `{}`."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(1.0)
            with suppress(TimeoutError):
                while connection.recv(MIB):
                    pass
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
            )

    def close(self) -> None:
        self._listener.close()


@contextmanager
def serving(upstream: str) -> Iterator[Process]:
    """Run a proxy before a provider, with a selector that finds the first tools."""
    with peer(lambda exchange: exchange.select("t1", "t2")) as selector:
        impatient = {"TOOLSCOUT_CALLER_TIMEOUT_S": "6"}
        with proxy(upstream, selector=selector.url, **impatient) as server:
            yield server


@contextmanager
def _before_drain(folder: Path) -> Iterator[Process]:
    drain = _Drain()
    with serving(f"http://127.0.0.1:{drain.port}") as server:
        yield server
    drain.close()


@contextmanager
def _before_provider(folder: Path) -> Iterator[Process]:
    for name in ANSWERS:
        if name.startswith("a bomb"):
            _made(name)
    with peer(_provider) as provider, serving(provider.url) as server:
        yield server


def _exchange(server: Process, request: bytes) -> int:
    """Send a request; read its answer, and return how many bytes it had."""
    size = 0
    with server.connect() as connection, suppress(OSError):
        connection.sendall(request)
        while size < MOST_READ and (piece := connection.recv(MIB)):
            size += len(piece)
    return size


def _posting(name: str, body: Callable[[], bytes], times: int) -> Attack:
    """Return the attack that posts a body, which is made before anybody is watched."""
    made = cache(lambda: _head(len(body())) + body())

    def run(server: Process) -> None:
        request = made()
        at_once(times, lambda: _exchange(server, request))

    def prepare(_: Process) -> None:
        made()

    return Attack(
        f"proxy: body: {name}",
        run,
        prepare=prepare,
        start=_before_drain,
        others=lambda _: (HEALTH, None),
        most_mib=lambda idle: half_more(idle) + HELD_MIB,
    )


def _ask_for(answer: str) -> Callable[[Process], None]:
    def run(server: Process) -> None:
        body = _tools(50).replace(b'"model"', b'"stream": true, "model"')
        if ANSWERS[answer][0].startswith(JSON):
            body = _tools(50)
        head = _head(len(body)).replace(JSON, JSON + b"X-Answer: %b\r\n" % answer.encode())
        at_once(3, lambda: _exchange(server, head + body))

    return run


def _half_heads(server: Process) -> None:
    with ExitStack() as callers:
        for _ in range(300):
            callers.enter_context(server.connect()).sendall(b"GET /v1/models HTTP/1.1\r\nHost: a")
        until(lambda: _exchange(server, b"GET /healthz HTTP/1.0\r\n\r\n") > 0)


def _slow_bodies(server: Process) -> None:
    """Begin 60 bodies that would be held to be searched, and never end them."""
    body = _tools(50, "x" * 2 * MIB)
    with ExitStack() as callers:
        for _ in range(60):
            caller = callers.enter_context(server.connect())
            caller.sendall(_head(len(body)) + body[:-1])
        assert _exchange(server, b"GET /healthz HTTP/1.0\r\n\r\n")


def _paths_and_hosts(server: Process) -> None:
    for path in (b"/../admin", b"/%2e%2e/admin", b"/..%2fadmin", b"http://localhost/../x"):
        _exchange(server, b"GET %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path)
    for head in (b"Host: evil.example", b"Host: localhost\r\nOrigin: https://evil.example"):
        _exchange(server, b"GET /v1/models HTTP/1.1\r\n%b\r\nConnection: close\r\n\r\n" % head)


def of_proxy() -> list[Attack]:
    """List the attacks on the proxy."""

    def attack(name: str, run: Callable[[Process], None]) -> Attack:
        start = _before_provider if name.startswith("answer") else _before_drain
        return Attack(
            f"proxy: {name}",
            run,
            start=start,
            others=lambda _: (HEALTH, None),
            most_mib=half_more,
        )

    found = [
        attack(
            f"heads: {name}",
            lambda server, flood=flood: at_once(FLOOD, lambda: pour(server, *flood)),
        )
        for name, flood in FLOODS.items()
    ]
    found += [_posting(name, body, 3) for name, body in BODIES.items()]
    large = "a message of 8 MB"
    found.append(_posting(f"{large}, {FLOOD} at once", BODIES[large], FLOOD))
    found += [attack(f"answer: {name}", _ask_for(name)) for name in ANSWERS]
    found.append(attack("300 half heads", _half_heads))
    found.append(attack("60 bodies without end", _slow_bodies))
    found.append(attack("paths and hosts", _paths_and_hosts))
    return found
