"""What goes out together, and that callers who connect together are accepted in one turn."""

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from unittest.mock import Mock

import pytest
import uvicorn
import uvloop

from toolscout.serving import limited
from toolscout.serving.limited import make_server
from toolscout.serving.transport import ClosingTransport
from toolscout.settings import Settings


class Wire(asyncio.Transport):
    """Takes down what is written, and the end."""

    def __init__(self) -> None:
        super().__init__({"peername": "caller"})
        self.sent: list[bytes | None] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.closed = True
        self.sent.append(None)

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 0


def transport_of(wire: Wire) -> ClosingTransport:
    """Return the transport of a caller who has sent its request."""
    connection = Mock(is_receiving=lambda: False)
    return ClosingTransport(wire, connection)


def sent(*actions: Callable[[ClosingTransport], None]) -> list[bytes | None]:
    """Return what the actions, all in one turn of the loop, send."""

    async def main() -> list[bytes | None]:
        wire = Wire()
        transport = transport_of(wire)
        for action in actions:
            action(transport)
        await asyncio.sleep(0)
        return wire.sent

    return asyncio.run(main())


def writing(data: bytes) -> Callable[[ClosingTransport], None]:
    return lambda transport: transport.write(data)


def closing(transport: ClosingTransport) -> None:
    transport.close()


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([writing(b"head "), writing(b"body")], [b"head body"]),
        ([writing(b"head"), writing(b"")], [b"head"]),
        ([writing(b"head")], [b"head"]),
        ([writing(b"a"), writing(b"b"), writing(b"c")], [b"ab", b"c"]),
        ([writing(b"head"), closing], [b"head", None]),
        ([writing(b"head "), writing(b"body"), closing], [b"head body", None]),
    ],
)
def test_two_writes_are_one_and_none_is_lost(
    actions: list[Callable[[ClosingTransport], None]], expected: list[bytes | None]
):
    assert sent(*actions) == expected


def test_what_is_held_is_dropped_when_the_caller_has_gone():
    async def main() -> list[bytes | None]:
        wire = Wire()
        transport = transport_of(wire)
        transport.write(b"head")
        wire.close()
        await asyncio.sleep(0)
        return wire.sent

    assert asyncio.run(main()) == [None]


# Callers who connect simultaneously are accepted in one turn of the loop.


CALLERS = 50


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    await receive()


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def ours(application: Any) -> uvicorn.Server:
    logger = logging.getLogger("accepting")
    return make_server(application, Settings(), logger, 1, lifespan="off")


def plain_uvicorn(application: Any) -> uvicorn.Server:
    options: dict[str, Any] = {"http": "httptools", "lifespan": "off", "log_config": None}
    return uvicorn.Server(uvicorn.Config(application, **options))


async def started(
    made: Callable[[Any], uvicorn.Server], application: Any
) -> tuple[uvicorn.Server, tuple[str, int]]:
    """Return a server, and its address."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=CALLERS)
    address = listening.getsockname()
    server = made(application)
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup([listening])
    return server, address


async def turns_until_accepted(made: Callable[[Any], uvicorn.Server]) -> int:
    """Let callers wait in the backlog, and count the turns of the loop until all are accepted."""
    server, address = await started(made, nothing)
    callers = [socket.create_connection(address) for _ in range(CALLERS)]  # in no turn of the loop
    turns = 0
    while len(server.server_state.connections) < CALLERS:
        turns += 1
        await asyncio.sleep(0)
        assert turns < 10_000
    for caller in callers:
        caller.close()
    await server.shutdown()
    with suppress(OSError):
        socket.create_connection(address, timeout=1).close()
        raise AssertionError("it listens after its end")
    return turns


def test_all_who_wait_are_accepted_in_a_few_turns():
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        plain = runner.run(turns_until_accepted(plain_uvicorn))
        assert runner.run(turns_until_accepted(ours)) < 10 < plain


def test_the_standard_loop_serves_as_well():
    with asyncio.Runner() as runner:
        assert runner.run(turns_until_accepted(ours)) < 10


async def answers_to_the_last() -> set[bytes]:
    """Let callers wait in the backlog of a server that ends, and return what they are answered."""
    server, address = await started(ours, answer)
    callers = [socket.create_connection(address) for _ in range(CALLERS)]
    for caller in callers:
        caller.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    await server.shutdown()
    answers = {caller.recv(1_024).partition(b"\r\n")[0] for caller in callers}
    for caller in callers:
        caller.close()
    return answers


def test_all_who_wait_at_the_end_are_answered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limited, "LAST_S", 1.0)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(answers_to_the_last()) == {b"HTTP/1.1 204 No Content"}
