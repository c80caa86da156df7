"""Accept all waiting connections in one turn of the event loop.

uvloop takes one connection from a listening socket in each turn, and a busy turn first serves all
that are open. So of n callers who connect simultaneously, as a proxy's pool does after a restart,
the last one waits for n²/2 requests. Here a turn takes whatever waits.
"""

import asyncio
import socket
from contextlib import suppress
from errno import EMFILE, ENFILE
from typing import Any

import uvicorn

PAUSE_S = 1.0
"""Seconds without accepting after the process has run out of descriptors."""

CLOSING_S = 0.01
"""Seconds without accepting where idle connections were closed to make room."""

LAST_S = 0.1
"""Seconds that those who were accepted last have to send their request."""

AT_A_TIME = 1_024
"""Connections of one turn; a flood leaves the others their turn."""


class AcceptingServer(uvicorn.Server):
    """uvicorn's server with listening sockets that are emptied in each turn."""

    _acceptors: tuple["_Acceptor", ...] = ()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, and take the listening sockets over."""
        await super().startup(sockets)
        if self.started:
            self._acceptors = tuple(
                _Acceptor(self, _copy_of(listening))
                for server in self.servers
                for listening in server.sockets
            )
            for server in self.servers:
                server.close()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept who waits and then nobody, and end as uvicorn does, which closes what is idle."""
        for acceptor in self._acceptors:
            acceptor.close()
        await asyncio.sleep(LAST_S)
        await super().shutdown(sockets)

    def make_room(self) -> int:
        """Close idle connections, because no descriptors are left; return how many."""
        return 0

    def make_protocol(self) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        make: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = make(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol


class _Acceptor:
    def __init__(self, server: AcceptingServer, listening: socket.socket) -> None:
        self._server = server
        self._listening = listening
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[Any]] = set()
        self._resume()

    def close(self) -> None:
        """Stop listening; closing resets the connections that wait to be accepted."""
        self._accept()
        self._loop.remove_reader(self._listening)
        self._listening.close()

    def _resume(self) -> None:
        if self._listening.fileno() >= 0:
            self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        for _ in range(AT_A_TIME):
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # the callers that wait would call in every turn
                self._loop.remove_reader(self._listening)
                is_short = error.errno in (EMFILE, ENFILE)
                pause_s = CLOSING_S if is_short and self._server.make_room() else PAUSE_S
                self._loop.call_later(pause_s, self._resume)
                return
            connection.setblocking(False)
            if connection.family != socket.AF_UNIX:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = self._loop.create_task(self._open(connection))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _open(self, connection: socket.socket) -> None:
        with suppress(OSError):  # gone, or no TLS: the loop closes it
            await self._loop.connect_accepted_socket(
                self._server.make_protocol, connection, ssl=self._server.config.ssl
            )


def _copy_of(listening: Any) -> socket.socket:
    """Return the socket again, which stays open when the loop's own is closed."""
    copy = socket.socket(fileno=socket.dup(listening.fileno()))
    copy.setblocking(False)
    return copy
