"""Serve by uvicorn, with limits on callers; how the proxy and the gateway refuse them.

uvloop takes one connection from a listening socket in each turn, and a busy turn first serves all
that are open. So of n callers who connect simultaneously, as a proxy's pool does after a restart,
the last one waits for n²/2 requests. Here a turn takes whatever waits.
"""

import asyncio
import json
import logging
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from errno import EMFILE, ENFILE
from functools import partial
from http import HTTPStatus
from typing import Any

import uvicorn

from toolscout.serving import tls
from toolscout.serving.connections import LoggedEvents, ServedConnections, cancel_until_done
from toolscout.serving.protocol import LimitedProtocol
from toolscout.settings import Settings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_STATUS = {
    "bad_request": HTTPStatus.BAD_REQUEST,
    "body_timeout": HTTPStatus.REQUEST_TIMEOUT,
    "headers_too_large": HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
}

PAUSE_S = 1.0
"""Seconds without accepting after the process has run out of descriptors."""

CLOSING_S = 0.01
"""Seconds without accepting where idle connections were closed to make room."""

HANDSHAKE_S = 10
"""Seconds for a handshake of TLS, before which nobody has shown a key."""

LAST_S = 0.1
"""Seconds that those who were accepted last have to send their request."""

AT_A_TIME = 1_024
"""Connections of one turn; a flood leaves the others their turn."""

WATCH_S = 0.1
"""How often overdue waits are ended."""


class LimitedServer(uvicorn.Server):
    """A server whose connections have limits on heads, numbers and waits.

    It empties its listening sockets in each turn, ends overdue waits, and follows the files of its
    certificate.

    Args:
        application: an ASGI application, or what makes one.
        settings: limits, and the files of TLS.
        options: further ones of `uvicorn.Config`.

    Raises:
        ConfigurationError: the files of TLS are not what they should be.
    """

    connections: ServedConnections
    """The limits and deadlines of all connections; set before it starts."""

    def __init__(self, application: Any, settings: Settings, **options: Any) -> None:
        self._settings = settings
        self.certificate: tls.Certificate | None = None
        self._listening: list[socket.socket] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        super().__init__(
            uvicorn.Config(
                application,
                ws="none",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=settings.keep_alive_s,
                **tls.make_options(settings),
                **options,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, take the listening sockets over, and watch."""
        self._loop = asyncio.get_running_loop()
        limited: Any = partial(LimitedProtocol, limits=self.connections)
        self.config.http_protocol_class = limited
        self.connections.answering = self.server_state.tasks
        await super().startup(sockets)
        if not self.started:
            return
        for server in self.servers:
            for listening in server.sockets:
                # A copy, which stays open when the loop's own is closed.
                copy = socket.socket(fileno=socket.dup(listening.fileno()))
                copy.setblocking(False)
                self._listening.append(copy)
                self._resume(copy)
            server.close()
        watching = [self._watch()]
        if self.config.ssl is not None:
            log = self.connections.log
            self.certificate = tls.Certificate(self._settings, self.config.ssl, log)
            watching.append(self.certificate.files.follow())
        self._watching = [asyncio.create_task(each) for each in watching]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain the accept queue, stop accepting, then shut down as uvicorn does."""
        for listening in self._listening:
            self._accept(listening)  # closing resets the connections that wait to be accepted
            self._loop.remove_reader(listening)
            listening.close()
        await asyncio.sleep(LAST_S)
        await super().shutdown(sockets)
        await asyncio.gather(*map(cancel_until_done, self._watching))
        self.connections.report()

    def _resume(self, listening: socket.socket) -> None:
        if listening.fileno() >= 0:
            self._loop.add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(AT_A_TIME):
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # the callers that wait would call in every turn
                self._loop.remove_reader(listening)
                is_short = error.errno in (EMFILE, ENFILE)
                has_closed = is_short and self.connections.make_room(self.server_state.connections)
                self._loop.call_later(CLOSING_S if has_closed else PAUSE_S, self._resume, listening)
                return
            connection.setblocking(False)
            if connection.family != socket.AF_UNIX:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = self._loop.create_task(self._open(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _open(self, connection: socket.socket) -> None:
        config: Any = self.config
        make = partial(
            config.http_protocol_class,
            config=config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        with suppress(OSError):  # gone, or no TLS: the loop closes it
            limit = HANDSHAKE_S if config.ssl else None
            await self._loop.connect_accepted_socket(
                make, connection, ssl=config.ssl, ssl_handshake_timeout=limit
            )

    async def _watch(self) -> None:
        while True:
            self.connections.expire()
            await asyncio.sleep(WATCH_S)


def make_server(
    application: Application, settings: Settings, logger: logging.Logger, grace_s: int, **more: Any
) -> LimitedServer:
    """Return the server of the proxy, or of the gateway.

    Args:
        application: an ASGI application.
        settings: as above.
        logger: gets the refusals, together every ten seconds.
        grace_s: seconds that open answers may take to finish after a signal.
        more: options of `uvicorn.Config`.

    Raises:
        ConfigurationError: as above.
    """
    options = more | {"log_config": None, "timeout_graceful_shutdown": grace_s}
    server = LimitedServer(application, settings, **options)
    server.connections = ServedConnections(settings, write_refusal, LoggedEvents(logger))
    return server


def write_error(detail: str, code: str) -> bytes:
    """Return an error in the shape that the SDKs of OpenAI and Anthropic read."""
    kind = {"message": detail, "type": "proxy_error", "code": code}
    return json.dumps({"type": "error", "error": kind}).encode()


def write_refusal(code: str, detail: str, _: bytes) -> bytes:
    """Write the refusal of a connection, head and body."""
    status = _STATUS[code]
    body = write_error(detail, code)
    head = (
        f"HTTP/1.1 {status} {status.phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
