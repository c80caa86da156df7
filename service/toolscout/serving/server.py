"""Serve the proxy and the gateway by uvicorn, with the limits that the service has."""

import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any

import uvicorn

from toolscout.serving import tls
from toolscout.serving.accepting import AcceptingServer
from toolscout.serving.connections import Connections, LoggedEvents, Steps
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


class LimitedServer(AcceptingServer):
    """A server whose connections have limits on heads, numbers and waits.

    Args:
        application: an ASGI application.
        settings: limits, and the files of TLS.
        logger: gets the refusals, together every ten seconds.
        grace_s: seconds that open answers may take to finish after a signal.
        options: further ones of `uvicorn.Config`.

    Raises:
        ConfigurationError: the files of TLS are not what they should be.
    """

    def __init__(
        self,
        application: Application,
        settings: Settings,
        logger: logging.Logger,
        grace_s: int,
        **options: Any,
    ) -> None:
        events = LoggedEvents(logger)
        self._connections = Connections(settings, refusal_on_wire, events)
        self.refused = self._connections.refused
        """Count a refused request by its reason."""
        self._certificate: tls.Certificate | None = None
        self._events = events
        self._steps = Steps(events)
        self._settings = settings
        super().__init__(
            uvicorn.Config(
                _Limited(application, self._connections),
                http=LimitedProtocol,
                ws="none",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=settings.keep_alive_s,
                timeout_graceful_shutdown=grace_s,
                **tls.options(settings),
                **options,
            )
        )

    async def on_tick(self, counter: int) -> bool:
        """End overdue waits, ten times a second; read a renewed certificate once a second."""
        self._steps.run(self._connections.expire)
        if counter % 10 == 0:
            self._steps.run(self._check_certificate)
        return await super().on_tick(counter)

    def _check_certificate(self) -> None:
        if self.config.ssl is not None:
            if self._certificate is None:
                self._certificate = tls.Certificate(self._settings, self.config.ssl, self._events)
            self._certificate.files.check()

    async def shutdown(self, sockets: Any = None) -> None:
        """Log the last refusals, and end as uvicorn does."""
        self._connections.report()
        await super().shutdown(sockets)


class _Limited:
    """An application with the limits of its connections, as the protocol needs them."""

    def __init__(self, application: Application, connections: Connections) -> None:
        self.connections = connections
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._application(scope, receive, send)


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
