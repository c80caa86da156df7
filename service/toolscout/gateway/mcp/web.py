"""The gateway over streamable HTTP: its address, its keys, and a server that others may stop."""

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from hmac import compare_digest
from http import HTTPStatus
from typing import Any

from fastmcp import FastMCP
from starlette.responses import JSONResponse

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.authorization import METADATA, Authorization
from toolscout.gateway.mcp.connection import ended
from toolscout.gateway.mcp.gateway import Gateway
from toolscout.gateway.mcp.view import View
from toolscout.serving.bodies import Bodies, BodyRefused, replay
from toolscout.serving.callers import FOREIGN_STATUS, CallerGuard
from toolscout.serving.server import Application, LimitedServer
from toolscout.settings import Settings

PATH = "/mcp"

GRACE_S = 5
"""Seconds that open calls may take to finish after a signal."""


SESSION_IDLE_S = 600
MAX_SESSIONS = 1_000
"""A session ends after so long without a request; of more than this, the one used longest ago."""

SESSION = b"mcp-session-id"


class Callers:
    """An ASGI application that lets in who may call.

    Args:
        served: the applications behind it.
        guard: knows the names of this server.
        bodies: reads what they send.
    """

    def __init__(self, served: "Served", guard: CallerGuard, bodies: Bodies) -> None:
        self._served = served
        self._guard = guard
        self._bodies = bodies

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one request of ASGI."""
        listed = scope["headers"]
        headers = dict(listed)
        is_keyless = await self._served.application(None) is not None  # and so nobody needs one
        foreign = self._guard.refusal(
            headers.get(b"host", b""), headers.get(b"origin", b""), is_keyless=is_keyless
        )
        if foreign is not None:
            code, detail = foreign
            await _refuse(FOREIGN_STATUS[code], detail)(scope, receive, send)
            return
        authorization, challenge = self._served.authorization, "Bearer"
        if authorization is not None:
            challenge = authorization.challenge
            if scope["path"].startswith(METADATA):
                await JSONResponse(authorization.metadata)(scope, receive, send)
                return
        application = await self._served.application(_key(listed))
        if application is None:
            detail = "send the key of this gateway, as Authorization: Bearer or X-API-Key"
            refusal = _refuse(HTTPStatus.UNAUTHORIZED, detail, {"WWW-Authenticate": challenge})
            await refusal(scope, receive, send)
        elif scope["method"] != "POST":
            await application(scope, receive, send)
        else:
            await self._read(application, scope, receive, send)

    async def _read(self, application: Application, scope: Any, receive: Any, send: Any) -> None:
        """Read the body of a request within its limits, and pass it on."""
        try:
            body = await self._bodies.read(receive)
        except BodyRefused as refused:
            answer = _refuse(refused.status, refused.detail, {"Connection": "close"})
            await answer(scope, receive, send)
            return
        try:
            await application(scope, replay(body, receive), send)
        finally:
            self._bodies.release(body)


def _key(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """Return the key that a request shows; nobody's if it shows several."""
    shown = {value.strip() for name, value in headers if name == b"x-api-key"}
    for name, value in headers:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            shown.add(value[7:].strip())
    return shown.pop() if len(shown) == 1 else b"" if shown else None


def _refuse(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": detail}, status, headers)


class Sessions:
    """An ASGI application that bounds the sessions of the gateway behind it."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._sessions: dict[bytes, int] = {}
        """Requests in flight of each session, the one used longest ago first."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, and remember its session while it is answered and afterwards."""
        session = dict(scope["headers"]).get(SESSION)

        async def note(message: Any) -> None:
            nonlocal session
            if message["type"] == "http.response.start":
                opened = dict(message["headers"]).get(SESSION)
                if session is None and opened is not None and message["status"] < 400:
                    session = opened
                    await self._make_room(scope)
                    self._sessions[session] = 1
                elif message["status"] == HTTPStatus.NOT_FOUND or scope["method"] == "DELETE":
                    self._sessions.pop(session or b"", None)
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

        ending = {**scope, "method": "DELETE", "headers": [(SESSION, oldest)]}
        await self._application(ending, nothing, nothing)


class Served:
    """The applications of the gateway's views, each with sessions of its own, by their keys.

    Args:
        gateway: has the views.
        server_of: makes the server that shows a view.
        key: that of hosts that see everything.
        is_open: whether hosts without a key see everything, where nobody has one.
        authorization: verifies what is no key.
    """

    def __init__(
        self,
        gateway: Gateway,
        server_of: Callable[[View], "FastMCP[None]"],
        key: str | None,
        is_open: bool,
        authorization: Authorization | None = None,
    ) -> None:
        self.authorization = authorization
        self._gateway = gateway
        self._server_of = server_of
        self._key = key
        # Later a file without profiles must not open what keys have protected.
        self._is_open = is_open and not gateway.config.options.profiles
        self._tasks: dict[View, asyncio.Task[None]] = {}
        self._started: dict[View, asyncio.Future[Sessions]] = {}

    async def application(self, key: bytes | None) -> Sessions | None:
        """Return the application for a key, or for hosts without one; None if it is nobody's."""
        view = self._view(key)
        if view is None and self.authorization is not None:
            view = self._view_of(await self.authorization.scopes(key))
        if view is None:
            return None
        if view not in self._started:
            self._started[view] = asyncio.get_running_loop().create_future()
            self._tasks[view] = asyncio.create_task(self._run(view))
        return await asyncio.shield(self._started[view])

    async def close(self) -> None:
        """End all sessions."""
        await asyncio.gather(*map(ended, self._tasks.values()))

    def _view(self, key: bytes | None) -> View | None:
        profiles = self._gateway.config.options.profiles
        if self._is_open and not self._key and not profiles:
            return self._gateway.view
        owners = [(self._key, self._gateway.view)] if self._key else []
        for name, profile in profiles.items():
            owners += [(one, self._gateway.profiles[name]) for one in profile.keys]
        found, shown = None, sha256(key or b"").digest()
        for one, view in owners:  # all of them, so that the time tells nothing
            if compare_digest(sha256(one.encode()).digest(), shown):
                found = view
        return found

    def _view_of(self, scopes: list[str] | None) -> View | None:
        """Return the first profile that is among the scopes of a token; without any, everything."""
        profiles = self._gateway.config.options.profiles
        if scopes is None or not profiles:
            return None if scopes is None else self._gateway.view
        name = next((name for name in profiles if name in scopes), "")
        return self._gateway.profiles.get(name)

    async def _run(self, view: View) -> None:
        """Keep the application of a view until its profile is gone; then its sessions end."""
        served = self._server_of(view).http_app(
            PATH, host_origin_protection=False, session_idle_timeout=SESSION_IDLE_S
        )
        try:
            async with served.router.lifespan_context(served):
                self._started[view].set_result(Sessions(served))
                await view.ended.wait()
        finally:
            self._started.pop(view).cancel()  # if it could not start, nobody waits for it
            del self._tasks[view]


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
    served: Served, listener: socket.socket, stop: asyncio.Event, settings: Settings
) -> None:
    """Serve until the event is set, and then until open calls are over."""
    guard = CallerGuard(listener.getsockname()[0], settings.allowed_hosts)
    logger = logging.getLogger("toolscout.mcp")
    callers = Callers(served, guard, Bodies(settings.caller_timeout_s))
    web = _Web(callers, settings, logger, GRACE_S, lifespan="off")

    async def end() -> None:
        await stop.wait()
        web.should_exit = True

    ending = asyncio.ensure_future(end())
    await web.serve([listener])
    ending.cancel()
    await served.close()


class _Web(LimitedServer):
    """Leaves signals alone: the servers behind the gateway have to be ended, too."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
