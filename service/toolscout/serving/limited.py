"""Serve by uvicorn, with limits on callers; how the proxy and the gateway refuse them."""

import asyncio
import json
import logging
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from http import HTTPStatus
from typing import Any

import uvicorn

from toolscout.serving import tls
from toolscout.serving.accepting import AcceptingServer
from toolscout.serving.connections import Connections, LoggedEvents
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
    "overloaded": HTTPStatus.SERVICE_UNAVAILABLE,
}


WATCH_S = 0.1
"""How often overdue waits are ended."""


class WatchingServer(AcceptingServer):
    """A server whose connections have limits on heads, numbers and waits.

    It ends overdue waits, and follows the files of its certificate.

    Args:
        application: an ASGI application, or what makes one.
        settings: limits, and the files of TLS.
        options: further ones of `uvicorn.Config`.

    Raises:
        ConfigurationError: the files of TLS are not what they should be.
    """

    connections: Connections
    """The limits and deadlines of all connections; set before it starts."""

    def __init__(self, application: Any, settings: Settings, **options: Any) -> None:
        self._settings = settings
        self.certificate: tls.Certificate | None = None
        super().__init__(
            uvicorn.Config(
                application,
                ws="none",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=settings.keep_alive_s,
                **tls.options(settings),
                **options,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, and watch."""
        limited: Any = partial(LimitedProtocol, limits=self.connections)
        self.config.http_protocol_class = limited
        await super().startup(sockets)
        if self.started:
            watching = [self._watch()]
            if self.config.ssl is not None:
                log = self.connections.log
                self.certificate = tls.Certificate(self._settings, self.config.ssl, log)
                watching.append(self.certificate.files.follow())
            self._watching = [asyncio.create_task(each) for each in watching]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End as uvicorn does; overdue waits are ended until then."""
        await super().shutdown(sockets)
        for task in self._watching:
            task.cancel()

    def make_room(self) -> int:
        """Close the connections that have been idle for the longest time; return how many."""
        return self.connections.make_room(self.server_state.connections)

    async def _watch(self) -> None:
        while True:
            self.connections.expire()
            await asyncio.sleep(WATCH_S)


class LimitedServer(WatchingServer):
    """The server of the proxy and the gateway.

    Args:
        application: an ASGI application.
        settings: as above.
        logger: gets the refusals, together every ten seconds.
        grace_s: seconds that open answers may take to finish after a signal.
        options: further ones of `uvicorn.Config`.

    Raises:
        ConfigurationError: as above.
    """

    def __init__(
        self,
        application: Application,
        settings: Settings,
        logger: logging.Logger,
        grace_s: int,
        **options: Any,
    ) -> None:
        self.connections = Connections(settings, refusal_on_wire, LoggedEvents(logger))
        self.refused = self.connections.refused
        """Count a refused request by its reason."""
        options |= {"log_config": None, "timeout_graceful_shutdown": grace_s}
        super().__init__(application, settings, **options)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End as uvicorn does, and log the last refusals."""
        await super().shutdown(sockets)
        self.connections.report()


def error_body(detail: str, code: str) -> bytes:
    """Return an error in the shape that the SDKs of OpenAI and Anthropic read."""
    kind = {"message": detail, "type": "proxy_error", "code": code}
    return json.dumps({"type": "error", "error": kind}).encode()


def refusal_on_wire(code: str, detail: str, _: bytes) -> bytes:
    """Write the refusal of a connection, head and body."""
    status, body = _STATUS[code], error_body(detail, code)
    head = (
        f"HTTP/1.1 {status} {status.phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
