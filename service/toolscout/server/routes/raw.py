"""Handlers that answer over bytes, as routes of Litestar's."""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any, Self

from litestar.handlers import ASGIRouteHandler
from litestar.types import ExceptionHandlersMap, Receive, Scope, Send

from toolscout.contract.bounds import MAX_ANSWER_BYTES
from toolscout.server.context import context_of
from toolscout.server.http.answer import send_answer
from toolscout.server.http.problems import refuse_long
from toolscout.server.http.request import Route
from toolscout.server.routes.guards import check_head
from toolscout.server.routes.table import RAW, Operation

RawApplication = Callable[[Scope, Receive, Send], Awaitable[None]]


class RawHandler(ASGIRouteHandler):
    """Decorates an ASGI application that answers one method of a path.

    It checks heads as the guard of typed handlers does. For a guard Litestar would make a
    connection and a copy of the handler with each request, which takes as long as all checks.
    """

    def __init__(self, method: str, route: Route) -> None:
        """Answer these requests."""
        super().__init__(route.path, copy_scope=False, method=method, route=route)

    def __call__(self, fn: RawApplication) -> Self:
        """Answer by an application, once the head of a request is checked."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            check_head(scope, self)
            await fn(scope, receive, send)

        return super().__call__(answer)

    @cached_property
    def _exception_handlers(self) -> ExceptionHandlersMap:
        return super().resolve_exception_handlers()

    def resolve_exception_handlers(self) -> ExceptionHandlersMap:
        """Return those of all layers, which Litestar would join anew with each request."""
        return self._exception_handlers

    def resolve_guards(self) -> list[Any]:
        """Return none: `check_head` is called before the application."""
        return []


def make_raw_handlers() -> list[RawHandler]:
    """Return the handlers of what carries tools, and of the probes."""
    return list(map(_make_raw_handler, RAW))


def _make_raw_handler(operation: Operation) -> RawHandler:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        context = context_of(scope)
        given = await operation.handler(*context)
        size = len(given.body)
        if size > MAX_ANSWER_BYTES and context.request.slot is not None:
            raise refuse_long(size, MAX_ANSWER_BYTES)
        await send_answer(send, given)

    return RawHandler(operation.method, operation.route)(answer)
