"""Start every server of a configuration once, side by side, and read its lists."""

import asyncio
import sys
from collections.abc import Iterable
from typing import NamedTuple

from toolscout.commands.terminal import DIM, complain
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.cache import NO_CACHE, ListCache
from toolscout.gateway.mcp.connection import Connection
from toolscout.gateway.mcp.log import silence
from toolscout.gateway.mcp.servers import Config
from toolscout.serving.connections import cancel_until_done

TELL_AFTER_S = 5.0
"""Seconds after which a person at a terminal is told which servers have not answered."""


class Tried(NamedTuple):
    """A server that has answered, or failed, and does not run any more."""

    connection: Connection
    seconds: float

    @property
    def why(self) -> str | None:
        """Return why it has failed, with the last words of its process; None if it has not."""
        reason = self.connection.reason
        words = self.connection.last_words
        return f"{reason} ({words})" if words else reason


def try_servers(config: Config) -> list[Tried]:
    """Try each server once, and end it as soon as its lists were read or it has failed.

    Nothing is logged: whoever calls this says why a server has failed.
    """

    async def try_all() -> list[Tried]:
        connections = [
            Connection(name, one, lambda: asyncio.sleep(0)) for name, one in config.servers.items()
        ]
        tries = {asyncio.create_task(_try(one)): one for one in connections}
        _, waiting = await asyncio.wait(tries, timeout=TELL_AFTER_S)
        if waiting and sys.stderr.isatty():
            slow = [tries[one] for one in tries if one in waiting]
            names = ", ".join(one.name for one in slow)
            longest_s = max(one.server.start_s for one in slow)
            complain(f"still waiting for {names} ({longest_s:g} s at most)", DIM)
        return [await one for one in tries]

    with silence():
        return asyncio.run(try_all())


async def _try(connection: Connection) -> Tried:
    clock = asyncio.get_running_loop().time
    started = clock()
    task = asyncio.create_task(connection.run())
    try:
        await connection.tried.wait()
        return Tried(connection, clock() - started)
    finally:
        await cancel_until_done(task)


def connect_all(config: Config, cache: ListCache = NO_CACHE) -> list[Connection]:
    """Return the connections of servers that have all answered, and keep their lists.

    Raises:
        ConfigurationError: some have not; names each of them.
    """
    tried = try_servers(config)
    if failed := list_failures(tried):
        raise ConfigurationError("; ".join(failed))
    for connection, _ in tried:
        cache.save(connection.server, connection.listed)
    return [connection for connection, _ in tried]


def list_failures(tried: Iterable[Tried]) -> list[str]:
    """Return of each server that has failed, why."""
    return [
        f"{one.connection.name} is unavailable: {one.why}" for one in tried if one.why is not None
    ]
