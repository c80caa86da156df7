"""The steps around every handler: admission, the key, errors as answers, metrics and the log."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from math import ceil
from time import perf_counter, time

from litestar.types import Receive, Scope, Send

from toolscout.contract.bounds import CATALOG_NAME, MAX_ANSWER_BYTES
from toolscout.errors import Overloaded
from toolscout.server.compiling import work_threads
from toolscout.server.http.admission import BytesInFlight
from toolscout.server.http.answer import (
    GATEWAY_PREFIX,
    Answer,
    answer_refused,
    send_answer,
)
from toolscout.server.http.auth import explain_refusal
from toolscout.server.http.problems import REFUSALS, Refused, refusal, too_long
from toolscout.server.http.request import ClientGone, Request, Route
from toolscout.server.observe.record import Record, Trace
from toolscout.server.service import Service

SHED = ("overloaded", "draining")
"""Refusals after which the caller should reconnect, perhaps to another process."""

CHANGING = {"PUT", "PATCH", "DELETE"}
AUDITED = {"write", "admin"}
"""Calls by these methods, of these scopes, have a line of their own in the log."""

RELAYED = "invalid_request"
"""The code of a request that another application refused with an answer of its own."""

Result = tuple[str, Answer | None]
"""`ok` or the code of an error, and the answer; None if the caller is gone."""

Handle = Callable[[Service, Request, Trace], Awaitable[Answer]]
"""Finds the route of a request, admits it, and calls its handler."""


async def serve(
    service: Service, handle: Handle, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer one request, or refuse it."""
    request = Request(scope, receive)
    request.newer_contract = request.path.startswith(GATEWAY_PREFIX)
    request.close = service.draining
    trace = Trace()
    code = "internal_error"
    status = 0
    try:
        code, answer = await _answer(service, handle, request, trace)
        if answer is not None:
            status = answer.status
            await send_answer(send, request, answer)
    finally:
        if request.slot is not None:
            service.admission.leave(request.slot)
        route = request.route
        if route is not None and not route.is_open:
            spent = perf_counter() - request.started
            record = Record(time(), request, route.call, code, status, spent, trace)
            if service.tracing is not None:
                record = record._replace(trace_id=service.tracing.record(record, route.path))
            service.records.add(record)
            if request.method in CHANGING and route.scope in AUDITED:
                _audit(service, route, request, trace, status)


async def _answer(service: Service, handle: Handle, request: Request, trace: Trace) -> Result:
    """Return what the handler answers, or a refusal."""
    waits = False
    try:
        answer = await handle(service, request, trace)
        waits = True
        size = len(answer.body)
        if size > MAX_ANSWER_BYTES and answer.is_bounded and request.slot is not None:
            raise too_long(size, MAX_ANSWER_BYTES)
    except ClientGone:
        return "client_gone", None
    except asyncio.CancelledError:
        # The server stops without waiting; callers that still read get the reason.
        request.close = True
        refused = Refused("draining", "the server was stopped")
    except REFUSALS as error:
        if isinstance(error, Overloaded):
            service.metrics.shed.labels(error.reason).inc()
        waits = request.is_admitted and not isinstance(error, BytesInFlight)
        refused = refusal(error)
    except Exception:
        service.log.exception("request_failed", request_id=request.request_id)
        waits = request.is_admitted
        refused = Refused("internal_error", "see the service's log")
    else:
        return "ok" if answer.status < HTTPStatus.BAD_REQUEST else RELAYED, answer
    if waits:
        settings = service.settings
        await request.drain(settings.max_body_bytes, min(settings.caller_timeout_s, 1.0))
    else:  # the connection is closed if a body is arriving
        request.close = request.close or request.has_body or refused.code in SHED
    newer = request.newer_contract
    return refused.code, answer_refused(refused, request.request_id, newer_contract=newer)


def admit(service: Service, request: Request, trace: Trace) -> None:
    """Check the head of a request whose route is known, and give it a slot.

    Raises:
        Refused: it must not be answered, or not now. Its body is not awaited.
    """
    route = request.route
    if route is None or route.is_open:
        request.is_admitted = True
        return
    if service.stopping:
        service.metrics.shed.labels("draining").inc()
        raise Refused("draining", "try again shortly")
    is_keyless = not len(service.keyring)
    foreign = service.callers.refusal(
        request.header(b"host"), request.header(b"origin"), is_keyless=is_keyless
    )
    if foreign is not None:
        raise Refused(*foreign)
    if is_keyless and request.has_body and not request.header(b"content-type"):
        # A page cannot declare JSON to another origin without its permission.
        raise Refused("unsupported_media_type", "send Content-Type: application/json")
    key = service.keyring.find(request.headers)
    if key is None:
        raise Refused("unauthorized", explain_refusal(request.headers))
    tenant = key.tenant
    trace.tenant = tenant
    trace.space = key.space
    trace.key = key.name
    if key.has_expired:
        raise Refused("unauthorized", f"this key expired at {key.expires}")
    if route.scope not in key.scopes:
        scopes = ", ".join(sorted(key.scopes))
        raise Refused(
            "forbidden", f"this needs a key with the scope {route.scope}; yours has {scopes}"
        )
    work_threads.TENANT.set(tenant)
    trace.coarse = service.keyring.is_shared
    wait = service.rate_limit.take(tenant)
    if wait:
        retry = [(b"retry-after", b"%d" % ceil(wait))]
        raise Refused("rate_limited", "try again later", headers=retry)
    entered = service.admission.enter(tenant)
    if isinstance(entered, str):
        service.metrics.shed.labels(entered).inc()
        raise Refused("overloaded", "try again shortly")
    request.slot = entered
    request.is_admitted = True


def _audit(service: Service, route: Route, request: Request, trace: Trace, status: int) -> None:
    """Log who tried to change what, and whether it came about; whatever `log` says."""
    name = request.parts.get("id", "")
    service.log.info(
        "change",
        request_id=request.request_id,
        tenant=trace.tenant,
        key=trace.key,
        call=route.call,
        method=request.method,
        catalog=name if CATALOG_NAME.fullmatch(name) else "",
        status=status,
    )
