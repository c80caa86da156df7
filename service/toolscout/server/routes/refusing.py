"""Errors as answers: whatever a guard or a handler raises becomes a problem document."""

from typing import Any, cast

from litestar import Request, Response
from litestar.exceptions import (
    ClientException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)
from litestar.types import ASGIApp, Receive, Scope, Send

from toolscout.errors import Overloaded
from toolscout.server.calls.typed import TypedRequest, explain_argument
from toolscout.server.context import RequestContext, context_of
from toolscout.server.http.admission import BytesInFlight
from toolscout.server.http.answer import answer_refused, send_answer
from toolscout.server.http.problems import REFUSALS, Refused, refuse
from toolscout.server.http.request import ClientGone
from toolscout.server.routes.table import refuse_path
from toolscout.server.routes.written import explain_method

SHED = ("overloaded", "draining")
"""Refusals after which the caller should reconnect, perhaps to another process."""

INVALID_HOST = "Invalid host header"
"""What Litestar says of a `Host` with characters that no name has."""

MAX_DRAIN_S = 1.0
"""Longest wait for the rest of a body that is not used."""


class RefusalResponse(Response[None]):
    """An error as Litestar sends it: after the rest of the body, so that the caller reads it."""

    def __init__(self, refused: Refused | None, *, waits: bool) -> None:
        """Answer with an error, or with nothing where nobody is left to read it."""
        super().__init__(None)
        self._refused = refused
        self._waits = waits

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIApp:  # type: ignore[override]
        """Return what sends it."""
        return self._send

    async def _send(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._refused is not None:
            await send_refusal(context_of(scope), self._refused, send, waits=self._waits)


def answer_error(request: Request[Any, Any, Any], error: Exception) -> RefusalResponse:
    """Answer whatever was raised before an answer had begun."""
    context = context_of(request.scope)
    if isinstance(error, ClientGone):
        context.request.refused = "client_gone"
        return RefusalResponse(None, waits=False)
    if isinstance(error, Overloaded):
        context.service.metrics.shed.labels(error.reason).inc()
    waits = context.request.is_admitted and not isinstance(error, BytesInFlight)
    return RefusalResponse(_explain_error(cast(TypedRequest, request), context, error), waits=waits)


async def send_refusal(
    context: RequestContext, refused: Refused, send: Send, *, waits: bool = False
) -> None:
    """Send a problem document; `waits` until the rest of the body is there."""
    service, request, _ = context
    if waits:
        settings = service.settings
        await request.drain(settings.max_body_bytes, min(settings.caller_timeout_s, MAX_DRAIN_S))
    else:  # the connection is closed if a body is arriving
        request.close = request.close or request.has_body or refused.code in SHED
    request.refused = refused.code
    newer = request.newer_contract
    await send_answer(send, answer_refused(refused, request.request_id, newer_contract=newer))


def _explain_error(call: TypedRequest, context: RequestContext, error: Exception) -> Refused:
    """Return an error as a refusal: ours, Litestar's or an unexpected one."""
    if isinstance(error, REFUSALS):
        return refuse(error)
    if isinstance(error, NotFoundException):
        return refuse_path(context.request.path)
    if isinstance(error, MethodNotAllowedException):
        return explain_method(call)
    if isinstance(error, ValidationException):
        return refuse(explain_argument(call.route_handler, error))
    if isinstance(error, ClientException):
        is_about_host = error.detail == INVALID_HOST
        detail = "Host is not a name" if is_about_host else "the request cannot be read"
        return Refused("bad_request", detail)
    context.service.log.exception("request_failed", request_id=context.request.request_id)
    return Refused("internal_error", "see the service's log")
