"""The gateway over streamable HTTP: its address, its key, its sessions."""

import asyncio
import socket
from http import HTTPStatus
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from sse_starlette.sse import AppStatus
from starlette.responses import JSONResponse

from toolscout.common.addresses import write_host
from toolscout.errors import ConfigurationError
from toolscout.gateway.callers import CallerCheck
from toolscout.gateway.mcp.keys import KEY, HostKeys, current_key
from toolscout.gateway.mcp.log import logger
from toolscout.server.http.auth import NO_KEY
from toolscout.serving.bodies import Bodies, BodyRefused, replay
from toolscout.serving.limited import Application, LimitedServer, make_server
from toolscout.settings import Settings

PATH = "/mcp"

WHOSE_KEY = "gateway, as Authorization: Bearer or X-API-Key"

GRACE_S = 5
"""Seconds that open calls may take to finish after a signal."""

WATCH_S = 0.1
"""Seconds between two looks at the open calls."""

SESSION_IDLE_S = 600
MAX_SESSIONS = 1_000
"""A session ends after so long without a request; of more than this, the one used longest ago."""

SESSION = MCP_SESSION_ID_HEADER.encode()
UNKNOWN = b"unknown"
"""The id of no session."""


class Callers:
    """An ASGI application that lets in who may call."""

    def __init__(
        self,
        application: Application,
        callers: CallerCheck,
        bodies: Bodies,
        keys: HostKeys | None = None,
    ) -> None:
        self.application = application
        """What is behind it."""
        self.callers = callers
        """Knows the names and the key of this server."""
        self.bodies = bodies
        """Reads what callers send."""
        self.keys = keys
        """Those of hosts, in place of the one key of this server."""
        self.open = 0
        """Requests that are being answered, but for streams of notifications, which never end."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one request of ASGI; a body is read within its limits first."""
        body = b""
        headers = {"Connection": "close"}
        is_call = scope["method"] == "POST"
        try:
            scope = self._admit(scope)
            if is_call:
                body = await self.bodies.read(receive)
                receive = replay(body, receive)
        except BodyRefused as refused:
            if refused.status == HTTPStatus.UNAUTHORIZED:
                headers = {"WWW-Authenticate": "Bearer"}
            answer = JSONResponse({"error": refused.detail}, refused.status, headers)
            await answer(scope, receive, send)
            return
        self.open += is_call
        try:
            await self.application(scope, receive, send)
        finally:
            self.open -= is_call
            self.bodies.release(body)

    def _admit(self, scope: Any) -> Any:
        """Return the scope of a request with the key that it came with.

        Raises:
            CallerRefused: it may not call.
        """
        headers = scope["headers"]
        if self.keys is None:
            self.callers.check(headers, _find_key(headers))
            return scope
        self.callers.check_page(headers, is_keyless=False)
        key = self.keys.find(headers)
        current_key.set(key)
        return {**scope, KEY: key}


def _find_key(headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the key of a request; an unknown one if it has none or several."""
    shown = {value.strip() for name, value in headers if name == b"x-api-key"}
    for name, value in headers:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            shown.add(value[7:].strip())
    return shown.pop() if len(shown) == 1 else b""


class Sessions:
    """An ASGI application that bounds the sessions of the gateway behind it."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._sessions: dict[tuple[str, bytes], int] = {}
        """Requests in flight of each session, by the key that opened it too; the one used longest
        ago first."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, and remember its session while it is answered and afterwards."""
        sent = dict(scope["headers"]).get(SESSION)
        owner = scope.get(KEY, NO_KEY).name
        session = (owner, sent or b"")
        if sent is not None:  # once, for of several who is behind this may read another one
            known = sent if session in self._sessions else UNKNOWN  # it may be another key's
            others = [pair for pair in scope["headers"] if pair[0] != SESSION]
            scope = {**scope, "headers": [*others, (SESSION, known)]}

        async def note(message: Any) -> None:
            nonlocal session
            if message["type"] == "http.response.start":
                opened = dict(message["headers"]).get(SESSION)
                if sent is None and opened is not None and message["status"] < 400:
                    session = (owner, opened)
                    await self._make_room(scope)
                    self._sessions[session] = 1
                elif message["status"] == HTTPStatus.NOT_FOUND or scope["method"] == "DELETE":
                    self._sessions.pop(session, None)
            await send(message)

        if session in self._sessions:
            self._sessions[session] = self._sessions.pop(session) + 1
        try:
            await self._application(scope, receive, note)
        finally:
            if session in self._sessions:
                self._sessions[session] -= 1

    async def _make_room(self, scope: Any) -> None:
        """End the idle session that was used longest ago, as its host would, if there are many."""
        if len(self._sessions) < MAX_SESSIONS:
            return
        oldest = min(self._sessions, key=lambda one: self._sessions[one] > 0)
        del self._sessions[oldest]

        async def nothing(_: Any = None) -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        ending = {**scope, "method": "DELETE", "headers": [(SESSION, oldest[1])]}
        await self._application(ending, nothing, nothing)


def read_address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT` or `PORT`.

    Raises:
        ConfigurationError: it is neither.
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ConfigurationError(f"http: expected HOST:PORT, got {text!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


async def serve_http(
    server: Server[Any],
    key: str | None,
    listener: socket.socket,
    settings: Settings,
    stop: asyncio.Event,
    keys: HostKeys | None = None,
) -> None:
    """Serve until a signal, and then until open calls are over.

    `stop` is set by a signal that comes before.
    """
    host, port, *_ = listener.getsockname()
    scheme = "https" if settings.tls_cert else "http"
    logger.info("serving %s://%s:%d%s", scheme, write_host(host), port, PATH)
    check = CallerCheck(host, settings.allowed_hosts, key, WHOSE_KEY)
    served = server.streamable_http_app(
        streamable_http_path=PATH,
        session_idle_timeout=SESSION_IDLE_S,
        host="",  # the guard checks names
    )
    callers = Callers(Sessions(served), check, Bodies(settings.caller_timeout_s), keys)
    async with served.router.lifespan_context(served):
        limited = make_server(callers, settings, logger, GRACE_S, lifespan="off")
        ending = asyncio.ensure_future(_end_streams(limited, callers, stop))
        await limited.serve([listener])
        ending.cancel()


async def _end_streams(server: LimitedServer, callers: Callers, stop: asyncio.Event) -> None:
    """End all streams of notifications once no call is open, which would break calls off too."""
    AppStatus.enable_automatic_graceful_drain = AppStatus.should_exit = False
    while callers.open or not server.should_exit:
        await asyncio.sleep(WATCH_S)
        server.should_exit = server.should_exit or stop.is_set()
    AppStatus.should_exit = True
