"""Build the ASGI application from the settings, and run its background tasks."""

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import msgspec
from litestar import Litestar, Response
from litestar.connection import ASGIConnection
from litestar.enums import ScopeType
from litestar.exceptions import ClientException, ValidationException
from litestar.handlers import BaseRouteHandler
from litestar.types import Receive, Scope, Send

from toolscout import __version__, playground
from toolscout.common.optional import needed
from toolscout.server.calls import lookup
from toolscout.server.calls.envelope import decode
from toolscout.server.calls.typed import Call, refused_argument
from toolscout.server.endpoint import admit, serve
from toolscout.server.http.answer import Answer, relayed
from toolscout.server.http.problems import Refused
from toolscout.server.http.request import Request, Route
from toolscout.server.observe.record import Trace
from toolscout.server.openapi import pages
from toolscout.server.routes.table import (
    METHODS,
    RAW,
    Operation,
    near_paths,
    paths,
    patterns,
    typed,
)
from toolscout.server.service import Service
from toolscout.serving.connections import Steps, cancel_until_done
from toolscout.settings import Settings
from toolscout.settings_sources import load
from toolscout.state.health import Health, examine
from toolscout.state.opening import sqlite_path
from toolscout.state.store import StoreUnavailable

if TYPE_CHECKING:
    from toolscout.server.mcp.facade import McpFacade


SWITCH_S = 0.0001
"""How long a thread may keep the interpreter lock from the event loop: pages and traits of large
catalogs are made in threads. With Python's 5 ms, 8 callers of them quadrupled the longest stall."""

WATCH_STORE_S = 5.0
"""Between two looks whether the store works."""

TICK_S = 0.1
"""Housekeeping period in seconds: write records, flush the log, look after the worker."""


class Application:
    """The ASGI application: a Litestar app, and the calls that are looked up before it."""

    def __init__(self, settings: Settings) -> None:
        """Load everything; nothing is served before `lifespan.startup`, which comes once.

        Raises:
            ConfigurationError: a setting is wrong, or something cannot be loaded.
        """
        self.service = Service(settings)
        self._facade = mcp_facade()(self.service) if settings.mcp else None
        raw = list(RAW)
        lifespan: list[Any] = [in_background(self.service)]
        if self._facade is not None:
            # A GET would open a stream on which nothing is ever sent; 405 tells clients so.
            raw.append(Operation("POST", self._facade.relay, Route("/mcp", "mcp")))
            lifespan.append(self._facade.running())
        self._raw = {f"{call.route.path}{end}": call for call in raw for end in ("", "/")}
        self._litestar = Litestar(
            route_handlers=[
                *typed(),
                *pages.HANDLERS,
                *(pages.PLAYGROUND if playground.is_on(settings) else ()),
            ],
            request_class=Call,
            guards=[_admit],
            lifespan=lifespan,
            exception_handlers={Exception: _kept},
            openapi_config=None,
            logging_config=None,
            request_max_body_size=None,
        )
        self._paths = patterns(self._litestar)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the server's lifespan."""
        if scope["type"] == ScopeType.HTTP:
            await serve(self.service, self._handle, scope, receive, send)
        else:
            await self._litestar(scope, receive, send)

    async def _handle(self, service: Service, request: Request, trace: Trace) -> Answer:
        """Answer a call by its own handler if its path has one, else by Litestar.

        Raises:
            Refused: the method is another one.
        """
        call = self._raw.get(request.path)
        if call is None:
            return await self._routed(service, request, trace)
        request.route = call.route
        if request.method != call.method:
            raise _not_allowed([call.method])
        admit(service, request, trace)
        return await call.handler(service, request, trace)

    async def _routed(self, service: Service, request: Request, trace: Trace) -> Answer:
        """Return what Litestar answers.

        Raises:
            Refused, InvalidRequest: there is no such path, or the request is at fault.
        """
        request.route, request.parts = self._find(request)
        state: dict[str, Any] = {"service": service, "request": request, "trace": trace}

        async def receive() -> Any:
            body = await request.json_body(service.settings)
            if not body:
                decode(body, msgspec.json.decode)
            return {"type": "http.request", "body": body, "more_body": False}

        scope: Any = {**request.scope, "state": {**request.scope.get("state", {}), **state}}
        scope["headers"] = list(dict(request.headers).items())  # of a repeated one the last counts
        answer = await relayed(self._litestar, scope, receive)
        if "error" in scope["state"]:
            raise scope["state"]["error"]
        return answer

    def _find(self, request: Request) -> tuple[Route, Mapping[str, str]]:
        """Return the route of a request, and the variable parts of its path as they are written.

        Litestar would merge slashes, and with them catalogs and tools of other names.

        Raises:
            Refused: there is no such path, or it does not answer the method.
        """
        for pattern, by_method in self._paths:
            if (path := pattern.fullmatch(request.path)) is not None:
                route = by_method.get(request.method)
                if route is None:
                    request.route = next(iter(by_method.values()))
                    raise _not_allowed(by_method)
                return route, path.groupdict()
        near = near_paths(request.path)
        raise Refused("not_found", f"a search is POST {paths()[0]}", suggestions=near)


def _admit(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """Check the head of a request that Litestar has found a handler for."""
    state = connection.scope["state"]
    request: Request = state["request"]
    connection.scope["path_params"].update(request.parts)
    admit(state["service"], request, state["trace"])
    if "id" in request.parts:
        lookup.check_name(request.parts["id"])


def _kept(request: Any, error: Exception) -> Response[None]:
    """Keep an error for `endpoint`, which answers it; of the caller it is one of ours."""
    if isinstance(error, ValidationException):
        error = refused_argument(request.route_handler, error)
    elif isinstance(error, ClientException):
        error = Refused("bad_request", "Host is not a name")
    request.scope["state"]["error"] = error
    return Response(None)


def _not_allowed(methods: Iterable[str]) -> Refused:
    allowed = [method for method in METHODS if method in methods]
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
    module = needed("mcp", "mcp", "mcp", "toolscout.server.mcp.facade")
    return cast("type[McpFacade]", module.McpFacade)


@asynccontextmanager
async def in_background(service: Service) -> AsyncIterator[None]:
    """Run what a process does beside its requests; then release threads, timers and the store."""
    service.log.info("start", version=__version__, pid=os.getpid())
    service.compiles.open()
    work = [_watch_store(service), _housekeep(service)]
    if service.learner is not None:
        follow = service.learner.follow
        tenants = service.keyring.tenants
        work.append(follow(tenants, lambda what: service.log.warning("state", detail=what)))
    if service.key_file is not None:
        work.append(service.key_file.files.follow())
    tasks = list(map(asyncio.create_task, work))
    sys.setswitchinterval(SWITCH_S)
    service.admission.start()
    # What lives as long as the process need not be walked by every collection.
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        await asyncio.gather(*map(cancel_until_done, tasks))
        with suppress(StoreUnavailable):
            await service.guard.store.close()
        service.admission.stop()
        service.compiles.close()
        if service.tracing is not None:
            await asyncio.to_thread(service.tracing.close)
        service.connections.report()
        service.records.write()
        service.log.info("stop", pid=os.getpid())
        service.log.close()


async def _watch_store(service: Service) -> None:
    """Log a line where the store stops working, works again or may lose what it took."""
    path = sqlite_path(service.settings.store)
    is_made = path is not None and not path.parent.exists()
    before = Health()
    while True:
        health = await examine(service.guard.store)
        if health.fault and health.event != before.event:
            service.log.error(health.event, detail=health.fault)
        if before.fault and not health.fault:
            service.log.info("store_available")
        if health.risk and not before.risk:
            service.log.warning("store_may_evict", detail=health.risk)
        if path is not None and is_made and not health.fault:
            service.log.warning("store_folder_made", path=str(path.parent))
            is_made = False
        service.metrics.store_may_evict.set(bool(health.risk))
        before = health
        await asyncio.sleep(WATCH_STORE_S)


async def _housekeep(service: Service) -> None:
    """Write figures and the log, and look after the worker, until cancelled."""
    steps = Steps(service.log)
    while True:
        steps.run(service.records.write)
        steps.run(service.log.flush)
        steps.run(service.compiles.check_health)
        await asyncio.sleep(TICK_S)
