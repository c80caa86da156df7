"""The steps around every request: its slot, its identity in the answer, metrics and the log.

Between them Litestar finds the handler, has the guards look at the head of the request, and answers
errors (see `routes`).
"""

import asyncio
from time import perf_counter, time

from litestar.types import ASGIApp, Message, Receive, Scope, Send

from toolscout.contract.bounds import CATALOG_NAME
from toolscout.server.context import RequestContext, keep_context
from toolscout.server.http.answer import GATEWAY_PREFIX, add_identity
from toolscout.server.http.problems import Refused
from toolscout.server.http.request import LimitedRequest, Route
from toolscout.server.observe.record import RequestRecord, Trace
from toolscout.server.routes.refusing import send_refusal
from toolscout.server.routes.table import refuse_path
from toolscout.server.service import Service

CHANGING = {"PUT", "PATCH", "DELETE"}
AUDITED = {"write", "admin"}
"""Calls by these methods, of these scopes, have a line of their own in the log."""

RELAYED = "invalid_request"
"""The code of a request that was refused with an answer of another kind than ours."""

MIN_ERROR_STATUS = 400

MAX_PATH_CHARS = 4_096
"""Longest path that is looked up: several times the names of a catalog and a tool."""


async def serve(
    service: Service, application: ASGIApp, scope: Scope, receive: Receive, send: Send
) -> None:
    """Have one request answered by an application."""
    request = LimitedRequest(scope, receive)
    request.newer_contract = request.path.startswith(GATEWAY_PREFIX)
    request.close = service.draining
    trace = Trace()
    context = RequestContext(service, request, trace)
    keep_context(scope, context)

    async def send_with_identity(message: Message) -> None:
        if message["type"] == "http.response.start":
            request.status = message["status"]
            given = message.get("headers", ())
            headers = add_identity(given, request.request_id, close=request.close)
            message["headers"] = headers
        await send(message)

    try:
        if len(request.path) > MAX_PATH_CHARS:  # Litestar remembers paths, before any key is seen
            await send_refusal(context, refuse_path(request.path), send_with_identity)
        else:
            await application(scope, receive, send_with_identity)
    except asyncio.CancelledError:
        if request.status:
            raise
        # The server stops without waiting; callers that still read get the reason.
        request.close = True
        await send_refusal(
            context, Refused("draining", "the server was stopped"), send_with_identity
        )
    except Exception:
        request.refused = "internal_error"  # the answer had begun
        raise
    finally:
        if request.slot is not None:
            service.admission.leave(request.slot)
        if request.route is not None and not request.route.is_open:
            _record(context, request.route)


def _record(context: RequestContext, route: Route) -> None:
    service, request, trace = context
    spent = perf_counter() - request.started
    code = _find_code(request)
    record = RequestRecord(time(), request, route.call, code, request.status, spent, trace)
    if service.tracing is not None:
        record = record._replace(trace_id=service.tracing.record(record, route.path))
    service.records.add(record)
    if request.method in CHANGING and route.scope in AUDITED:
        _audit(context, route)


def _find_code(request: LimitedRequest) -> str:
    """Return `ok`, or the code of the error in which a request ended."""
    if request.refused:
        return request.refused
    if not request.status:
        return "internal_error"
    return "ok" if request.status < MIN_ERROR_STATUS else RELAYED


def _audit(context: RequestContext, route: Route) -> None:
    """Log who tried to change what, and whether it came about; whatever `log` says."""
    service, request, trace = context
    name = request.scope["path_params"].get("id", "")
    service.log.info(
        "change",
        request_id=request.request_id,
        tenant=trace.tenant,
        key=trace.key,
        call=route.call,
        method=request.method,
        catalog=name if CATALOG_NAME.fullmatch(name) else "",
        status=request.status,
    )
