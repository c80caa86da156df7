"""Build the ASGI application from the settings."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from litestar import Litestar, Request, Response, asgi
from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from litestar.types import Receive, Scope, Send

from toolscout import playground
from toolscout.common.optional import needed
from toolscout.server.endpoint import serve
from toolscout.server.http.answer import answer_refused
from toolscout.server.http.problems import Refused
from toolscout.server.http.request import request_id
from toolscout.server.openapi import pages
from toolscout.server.routes.table import ROUTES, Route, Router
from toolscout.server.service import Service
from toolscout.settings import Settings
from toolscout.settings_sources import load

if TYPE_CHECKING:
    from toolscout.server.mcp.facade import McpFacade


class Application:
    """The ASGI application: a Litestar app in which one router is mounted."""

    def __init__(self, settings: Settings) -> None:
        """Load everything; nothing is served before `lifespan.startup`.

        Raises:
            ConfigurationError: a setting is wrong, or something cannot be loaded.
        """
        self.service = Service(settings)
        self._facade = mcp_facade()(self.service) if settings.mcp else None
        self._router = Router(_routes(settings, self._facade))
        self._searches = {
            path: found for path, found in self._router.plain.items() if found.call == "search"
        }
        self._litestar = Litestar(
            route_handlers=[asgi("/", is_mount=True, copy_scope=False)(self._mounted)],
            lifespan=[self._lifespan],
            exception_handlers={HTTPException: _malformed},
            openapi_config=None,
            logging_config=None,
        )

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

    async def _mounted(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["path"] = scope["state"]["path"]
        found = self._router.find(scope["path"])
        await serve(self.service, *found, scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, _: Litestar) -> AsyncIterator[None]:
        self.service.start()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.service.stop)
            if self._facade is not None:
                await stack.enter_async_context(self._facade.running())
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
    facade: type[McpFacade] = needed("mcp", "mcp", "mcp", "toolscout.server.mcp.facade").McpFacade
    return facade


def _malformed(request: Request[Any, Any, Any], _: HTTPException) -> Response[bytes]:
    """Refuse a request that Litestar cannot route, because `Host` has invalid characters."""
    identity = request_id(request.headers.get("x-request-id", "").encode("latin-1", "replace"))
    answer = answer_refused(Refused("bad_request", "Host is not a name"), identity)
    headers = {name.decode(): text.decode() for name, text in answer.head(identity, close=False)}
    return Response(answer.body, status_code=answer.status, headers=headers)
