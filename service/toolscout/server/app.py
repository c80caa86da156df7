"""Wiring: settings in, ASGI application out."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from litestar import Litestar, Request, Response
from litestar.datastructures import State
from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from litestar.types import Receive, Scope, Send

from toolscout import playground
from toolscout.errors import ConfigurationError
from toolscout.server.http import playground as pages
from toolscout.server.http.endpoint import serve_call
from toolscout.server.http.exchange import Refused, challenge, request_id
from toolscout.server.http.problems import CODES, problem
from toolscout.server.http.routes import HANDLERS, find_call
from toolscout.server.process import reload, shutdown
from toolscout.server.service import Service
from toolscout.settings import Settings, load

if TYPE_CHECKING:
    from toolscout.server.mcp.facade import McpFacade

MCP_PATHS = ("/mcp", "/mcp/")
_BY_STATUS = {404: "not_found", 405: "method_not_allowed"}


class Application:
    """The ASGI application: searches go straight to their endpoint, the rest through Litestar."""

    def __init__(self, settings: Settings) -> None:
        """Wire everything up; the model is loaded when the server starts.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        self.service = Service(settings)
        beside = pages.HANDLERS if playground.is_on(settings) else ()
        self._rest = Litestar(
            route_handlers=[*HANDLERS, *beside],
            state=State({"service": self.service}),
            lifespan=[_lifespan],
            exception_handlers={Refused: _refused, HTTPException: _http_error, Exception: _failed},
            openapi_config=None,
            logging_config=None,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the server's lifespan."""
        if self.service.mcp is not None and scope.get("path") in MCP_PATHS:
            await self.service.mcp(scope, receive, send)
            return
        found = find_call(scope.get("path", ""))
        if found is not None and scope["type"] == ScopeType.HTTP:
            await serve_call(self.service, scope, receive, send, *found)
        else:
            await self._rest(scope, receive, send)


def create_app(settings: Settings | None = None) -> Application:
    """The application; settings are read from the environment when none are given.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    return Application(settings or load())


@asynccontextmanager
async def _lifespan(app: Litestar) -> AsyncIterator[None]:
    service: Service = app.state.service
    # Before anything watches the event loop: loading the SDK would look like overload.
    facade = mcp_facade()(service) if service.settings.mcp else None
    service.start()
    server = shutdown.serving()
    if server is not None:
        reload.install(service, server)
        shutdown.install(service, server)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(service.stop)
        if facade is not None:
            await stack.enter_async_context(facade.running())
            service.mcp = facade
        yield


def mcp_facade() -> "type[McpFacade]":
    """Import the MCP facade, only where it is wanted: its SDK takes longer to load than the model.

    Raises:
        ConfigurationError: the SDK is not installed, or not in a version that works.
    """
    try:
        from toolscout.server.mcp.facade import McpFacade
    except ImportError:
        raise ConfigurationError(
            "mcp: needs the package mcp: pip install 'toolscout[server,mcp]'"
        ) from None
    return McpFacade


def _refused(request: Request[Any, Any, Any], error: Refused) -> Response[bytes]:
    return _problem(request, error.code, error.detail)


def _http_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    code = _BY_STATUS.get(error.status_code, "invalid_request")
    response = _problem(request, code, CODES[code].title)
    if code == "method_not_allowed":
        response.headers["Allow"] = "GET"
    return response


def _failed(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    service: Service = request.app.state.service
    service.log.exception("request_failed", path=request.url.path, exc_info=error)
    return _problem(request, "internal_error", "see the service's log")


def _problem(request: Request[Any, Any, Any], code: str, detail: str) -> Response[bytes]:
    identity = request_id(request.headers.get("x-request-id", "").encode("latin-1", "replace"))
    return Response(
        msgspec.json.encode(problem(code, detail, identity)),
        status_code=CODES[code].status,
        media_type="application/problem+json",
        headers={"X-Request-Id": identity, **challenge(code)},
    )
