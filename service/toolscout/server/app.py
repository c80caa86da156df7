"""Build the ASGI application from the settings."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from litestar import Litestar, Response
from litestar.connection import ASGIConnection
from litestar.enums import ScopeType
from litestar.exceptions import (
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)
from litestar.handlers import BaseRouteHandler
from litestar.types import Receive, Scope, Send

from toolscout import playground
from toolscout.common.optional import needed
from toolscout.errors import FieldError, InvalidRequest, in_words
from toolscout.server.background import Background
from toolscout.server.calls import lookup
from toolscout.server.calls.typed import Call
from toolscout.server.endpoint import admit, serve
from toolscout.server.http.answer import Answer, answer_of
from toolscout.server.http.problems import CODES, Refused
from toolscout.server.http.request import Request, Route
from toolscout.server.observe.record import Trace
from toolscout.server.openapi import pages
from toolscout.server.routes.table import RAW, RawCall, near_paths, shown_path, typed
from toolscout.server.service import Service
from toolscout.settings import Settings
from toolscout.settings_sources import load

if TYPE_CHECKING:
    from toolscout.server.mcp.facade import McpFacade


class Application:
    """The ASGI application: a Litestar app, and the calls that are looked up before it."""

    def __init__(self, settings: Settings) -> None:
        """Load everything; nothing is served before `lifespan.startup`.

        Raises:
            ConfigurationError: a setting is wrong, or something cannot be loaded.
        """
        self.service = Service(settings)
        self._facade = mcp_facade()(self.service) if settings.mcp else None
        raw = list(RAW)
        if self._facade is not None:
            # A GET would open a stream on which nothing is ever sent; 405 tells clients so.
            raw.append(RawCall("POST", self._facade.relay, Route("/mcp", "mcp")))
        self._raw = {
            path: partial(_answer_raw, call)
            for call in raw
            for path in (call.route.path, f"{call.route.path}/")
        }
        self._litestar = Litestar(
            route_handlers=[
                *typed(),
                *pages.HANDLERS,
                *(pages.PLAYGROUND if playground.is_on(settings) else ()),
            ],
            request_class=Call,
            guards=[_admit],
            lifespan=[self._lifespan],
            exception_handlers={Exception: _kept},
            openapi_config=None,
            logging_config=None,
            request_max_body_size=None,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the server's lifespan."""
        if scope["type"] == ScopeType.HTTP:
            handle = self._raw.get(scope["path"]) or self._routed
            await serve(self.service, handle, scope, receive, send)
        else:
            await self._litestar(scope, receive, send)

    async def _routed(self, service: Service, request: Request, trace: Trace) -> Answer:
        """Return what Litestar answers.

        Raises:
            Refused, InvalidRequest: there is no such path, or the request is at fault.
        """
        state: dict[str, Any] = {"service": service, "request": request, "trace": trace}
        answered: list[Any] = []

        async def receive() -> Any:
            body = await request.json_body(service.settings)
            if not body:
                raise Refused("invalid_json", "the body is not valid JSON: it is empty")
            return {"type": "http.request", "body": body, "more_body": False}

        async def keep(message: Any) -> None:
            answered.append(message)

        scope: Any = {**request.scope, "state": {**request.scope.get("state", {}), **state}}
        await self._litestar(scope, receive, keep)
        if "error" in scope["state"]:
            raise _explained(scope["state"]["error"], request)
        return answer_of(*answered)

    @asynccontextmanager
    async def _lifespan(self, _: Litestar) -> AsyncIterator[None]:
        background = Background(self.service)
        background.start()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(background.stop)
            if self._facade is not None:
                await stack.enter_async_context(self._facade.running())
            yield


async def _answer_raw(call: RawCall, service: Service, request: Request, trace: Trace) -> Answer:
    """Return what a call answers that is looked up before Litestar.

    Raises:
        Refused: the method is another one.
    """
    if request.method != call.method:
        request.route = call.route
        raise _not_allowed([call.method])
    admit(service, request, trace, call.route)
    return await call.handler(service, request, trace)


def _admit(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Check the head of a request that Litestar has found a handler for."""
    state, opt = connection.scope["state"], handler.opt
    path = shown_path(connection.scope["path_template"])
    name = connection.path_params.get("id")
    request: Request = state["request"]
    request.catalog = name or ""
    if "call" not in opt:  # what Litestar would answer to OPTIONS
        routes = connection.app.routes
        raise _not_allowed(*(one.methods for one in routes if shown_path(one.path) == path))
    route = Route(path, opt["call"], opt.get("scope", "search"), opt.get("is_open", False))
    admit(state["service"], request, state["trace"], route)
    if name is not None:
        lookup.check_name(name)


def _kept(request: Any, error: Exception) -> Response[None]:
    """Keep an error for who answers it."""
    request.scope["state"]["error"] = error
    return Response(None)


def _explained(error: Exception, request: Request) -> Exception:
    """Return an error as ours."""
    if isinstance(error, NotFoundException):
        near = near_paths(request.path)
        return Refused("not_found", CODES["not_found"].title, suggestions=near)
    if isinstance(error, MethodNotAllowedException):
        allow = (error.headers or {}).get("allow", "").split(", ")
        return _not_allowed(allow)
    if isinstance(error, ValidationException):
        wrong: Any = error.extra
        field, message = wrong[0]["key"], in_words(wrong[0]["message"])
        return InvalidRequest(f"{field}: {message}", (FieldError(field, message),))
    if isinstance(error, HTTPException):
        return Refused("bad_request", "Host is not a name")
    return error


def _not_allowed(methods: Iterable[str]) -> Refused:
    allowed = [method for method in methods if method != "OPTIONS"]
    headers = [(b"allow", ", ".join(allowed).encode())]
    return Refused("method_not_allowed", f"send a {' or '.join(allowed)} request", headers=headers)


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
