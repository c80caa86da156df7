"""Build the ASGI application from the settings; it stops on SIGTERM without losing a request.

SIGTERM: not ready at once, but serve on for `drain_s`, so that balancers notice first; answers
carry `Connection: close` meanwhile. Then uvicorn closes idle connections and finishes open
requests. A second SIGTERM skips the wait.

SIGHUP: what is read from files again and again (keys, certificates) is read at once.
"""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from time import perf_counter
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from litestar import Litestar, Request, Response, asgi
from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from litestar.types import Receive, Scope, Send

from toolscout import playground
from toolscout.errors import ConfigurationError
from toolscout.server.endpoint import serve
from toolscout.server.http.answer import answer_refused
from toolscout.server.http.auth import Keyring
from toolscout.server.http.refusals import Refused
from toolscout.server.http.request import request_id
from toolscout.server.openapi import pages
from toolscout.server.routes.table import ROUTES, Resource, Route, Router
from toolscout.server.service import Service
from toolscout.serving.connections import Connections
from toolscout.serving.tls import Certificate
from toolscout.settings import Settings
from toolscout.settings_sources import load
from toolscout.state.opening import open_store

if TYPE_CHECKING:
    from toolscout.server.mcp.facade import McpFacade

SAME_SIGNAL_S = 1.0
"""Within this time a second SIGTERM is taken for an echo of the first."""


class Application:
    """The ASGI application: a Litestar app in which one router is mounted."""

    service: Service
    """Made when the server starts, like the router."""

    def __init__(self, settings: Settings) -> None:
        """Set up everything that needs neither model nor event loop.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        self._settings = settings
        self._keyring = Keyring(settings.api_keys)
        self._store = open_store(settings.store, settings.store_bytes)
        self._router = Router(())
        self._searches: dict[str, Resource] = {}
        self._litestar = Litestar(
            route_handlers=[asgi("/", is_mount=True, copy_scope=False)(self._mounted())],
            lifespan=[self._lifespan],
            exception_handlers={HTTPException: _malformed},
            openapi_config=None,
            logging_config=None,
        )

    @property
    def connections(self) -> Connections:
        """The limits and deadlines of all connections."""
        return self.service.connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the server's lifespan."""
        if scope["type"] == ScopeType.HTTP:
            # The way through Litestar costs 9 µs, 5 to 9 % of a warm search by digest.
            search = self._searches.get(scope["path"])
            if search is not None:
                await serve(self.service, search, {}, scope, receive, send)
                return
            # Litestar shortens the path of what is mounted.
            scope.setdefault("state", {})["path"] = scope["path"]
        await self._litestar(scope, receive, send)

    def _mounted(self) -> Any:
        async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
            scope["path"] = scope["state"]["path"]
            found = self._router.find(scope["path"])
            await serve(self.service, *found, scope, receive, send)

        return mounted

    @asynccontextmanager
    async def _lifespan(self, _: Litestar) -> AsyncIterator[None]:
        self.service = service = Service(self._settings, self._keyring, self._store)
        # Before the lag of the event loop is measured: loading the SDK would look like overload.
        facade = mcp_facade()(service) if service.settings.mcp else None
        self._router = Router(_routes(service.settings, facade))
        self._searches = {
            path: found for path, found in self._router.plain.items() if found.call == "search"
        }
        service.start()
        server = _running_server()
        if server is not None:
            _take_signals(service, server)
            service.listens = lambda: server.started
        async with AsyncExitStack() as stack:
            stack.push_async_callback(service.stop)
            if facade is not None:
                await stack.enter_async_context(facade.running())
            yield


def _routes(settings: Settings, facade: "McpFacade | None") -> list[Route]:
    """Every route that these settings serve."""
    routes = [*ROUTES, *pages.ROUTES]
    if playground.is_on(settings):
        routes += pages.PLAYGROUND_ROUTES
    if facade is not None:
        # A GET would open a stream on which nothing is ever sent; 405 tells clients so.
        routes.append(Route("POST", "/mcp", facade.relay, "mcp"))
    return routes


def create_app(settings: Settings | None = None) -> Application:
    """Return the application; settings are read from the environment when none are given.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    return Application(settings or load())


def mcp_facade() -> "type[McpFacade]":
    """Import the MCP facade only if it is on, because its SDK loads more slowly than the model.

    Raises:
        ConfigurationError: the SDK is not installed, or not in a version that works.
    """
    try:
        from toolscout.server.mcp.facade import McpFacade
    except ImportError:
        raise ConfigurationError(
            "mcp: needs the package mcp: pip install '.[server,mcp]' in the clone"
        ) from None
    return McpFacade


def _malformed(request: Request[Any, Any, Any], _: HTTPException) -> Response[bytes]:
    """Refuse a request that Litestar cannot route, because `Host` has invalid characters."""
    identity = request_id(request.headers.get("x-request-id", "").encode("latin-1", "replace"))
    answer = answer_refused(Refused("bad_request", "Host is not a name"), identity)
    headers = {name.decode(): text.decode() for name, text in answer.head(identity, close=False)}
    return Response(answer.body, status_code=answer.status, headers=headers)


def _running_server() -> uvicorn.Server | None:
    """Return the uvicorn server that runs this application and takes its signals, if one does."""
    if threading.current_thread() is not threading.main_thread():
        return None
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return server if isinstance(server, uvicorn.Server) else None


def _take_signals(service: Service, server: uvicorn.Server) -> None:
    """Take SIGTERM over from a server, and SIGHUP; follow the certificate, if there is one."""
    _stop_on_term(service, server)
    _read_on_hup(service, server)


def _stop_on_term(service: Service, server: uvicorn.Server) -> None:
    loop = asyncio.get_running_loop()
    first = 0.0

    def stop() -> None:
        service.stopping = True
        server.should_exit = True

    def on_term(_: int, __: FrameType | None) -> None:
        nonlocal first
        if service.draining:
            # A process group's signal and its parent's arrive together and mean one thing.
            if perf_counter() - first > SAME_SIGNAL_S:
                stop()
            return
        first = perf_counter()
        service.draining = True
        drain_s = service.settings.drain_s
        loop.call_soon_threadsafe(partial(service.log.info, "draining", seconds=drain_s))
        loop.call_soon_threadsafe(loop.call_later, drain_s, stop)

    signal.signal(signal.SIGTERM, on_term)


def _read_on_hup(service: Service, server: uvicorn.Server) -> None:
    if service.settings.tls_cert and server.config.ssl is not None:
        service.certificate = Certificate(service.settings, server.config.ssl, service.log)
        service.run(service.certificate.files.follow())

    def reread() -> None:
        if service.key_file is not None:
            service.key_file.files.check()
        if service.certificate is not None:
            service.certificate.files.check()
        service.log.info("files_read", signal="SIGHUP")

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reread)
