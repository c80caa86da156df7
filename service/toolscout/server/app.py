"""Build the ASGI application from the settings."""

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, cast

from litestar import Litestar
from litestar.enums import ScopeType
from litestar.types import Receive, Scope, Send

from toolscout import playground
from toolscout.common.optional import import_needed
from toolscout.server.background import run_in_background
from toolscout.server.calls.typed import BoundedResponse, TypedRequest
from toolscout.server.endpoint import serve
from toolscout.server.http.request import Route
from toolscout.server.openapi import pages
from toolscout.server.routes import raw, table
from toolscout.server.routes.guards import admit
from toolscout.server.routes.refusing import answer_error
from toolscout.server.service import Service
from toolscout.settings import Settings
from toolscout.settings_sources import load

if TYPE_CHECKING:
    from toolscout.server.mcp.facade import McpFacade


class Application:
    """The ASGI application: Litestar, and the steps around every request."""

    def __init__(self, settings: Settings) -> None:
        """Load everything; nothing is served before `lifespan.startup`, which comes once.

        Raises:
            ConfigurationError: a setting is wrong, or something cannot be loaded.
        """
        self.service = Service(settings)
        handlers: list[Any] = [
            *raw.make_raw_handlers(),
            *table.make_typed_routers(),
            *pages.HANDLERS,
        ]
        lifespan: list[Any] = [run_in_background(self.service)]
        if playground.is_on(settings):
            handlers.extend(pages.PLAYGROUND)
        if settings.mcp:
            facade = load_mcp_facade()(self.service)
            # A GET would open a stream on which nothing is ever sent; 405 tells clients so.
            handlers.append(raw.RawHandler("POST", Route("/mcp", "mcp"))(facade.handle))
            lifespan.append(facade.running())
        self._litestar = Litestar(
            handlers,
            request_class=TypedRequest,
            response_class=BoundedResponse,
            guards=[admit],
            lifespan=lifespan,
            exception_handlers={Exception: answer_error},
            openapi_config=None,
            logging_config=None,
            request_max_body_size=None,
        )

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """Run what belongs to the process, as a server does between startup and shutdown."""
        return self._litestar.lifespan()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the server's lifespan."""
        if scope["type"] == ScopeType.HTTP:
            await serve(self.service, self._litestar, scope, receive, send)
        else:
            await self._litestar(scope, receive, send)


def create_app(settings: Settings | None = None) -> Application:
    """Return the application; settings are read from the environment when none are given.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    return Application(settings or load())


def load_mcp_facade() -> "type[McpFacade]":
    """Import the MCP facade only if it is on, because its SDK loads more slowly than the model.

    Raises:
        ConfigurationError: the SDK is not installed, or not in a version that works.
    """
    module = import_needed("mcp", "mcp", "mcp", "toolscout.server.mcp.facade")
    return cast("type[McpFacade]", module.McpFacade)
