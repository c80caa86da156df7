"""Callers who connect simultaneously are accepted in one turn of the loop."""

import asyncio
import socket
from contextlib import suppress
from typing import Any

import uvicorn
import uvloop

from toolscout.serving.accepting import AcceptingServer

CALLERS = 50


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    await receive()


async def turns_until_accepted(kind: type[uvicorn.Server]) -> int:
    """Let callers wait in the backlog, and count the turns of the loop until all are accepted."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=CALLERS)
    address = listening.getsockname()
    config = uvicorn.Config(nothing, http="httptools", lifespan="off", log_config=None)
    config.load()
    server = kind(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup([listening])
    callers = [socket.create_connection(address) for _ in range(CALLERS)]  # in no turn of the loop
    turns = 0
    while len(server.server_state.connections) < CALLERS:
        turns += 1
        await asyncio.sleep(0)
        assert turns < 10_000
    for caller in callers:
        caller.close()
    await server.shutdown([listening])
    with suppress(OSError):
        socket.create_connection(address, timeout=1).close()
        raise AssertionError("it listens after its end")
    return turns


def test_all_who_wait_are_accepted_in_a_few_turns():
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        plain = runner.run(turns_until_accepted(uvicorn.Server))
        assert runner.run(turns_until_accepted(AcceptingServer)) < 10 < plain


def test_the_standard_loop_serves_as_well():
    with asyncio.Runner() as runner:
        assert runner.run(turns_until_accepted(AcceptingServer)) < 10
