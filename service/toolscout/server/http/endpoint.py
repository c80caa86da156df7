"""What surrounds every call: admission, the key, errors as answers, metrics and the log."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from math import ceil
from time import perf_counter, time

from litestar.types import Receive, Scope, Send

from toolscout.errors import Overloaded
from toolscout.server.compiling import lookup, work_threads
from toolscout.server.http.admission import BytesInFlight
from toolscout.server.http.exchange import REFUSALS, ClientGone, Exchange, Refused, refusal
from toolscout.server.http.routes import Answer, Call, route
from toolscout.server.observe.record import Record, outcome_of
from toolscout.server.observe.trace import Trace
from toolscout.server.service import Service

SHED = ("overloaded", "draining")
"""Refusals after which the caller should connect anew, to another process where there is one."""

RELAYED = "invalid_request"
"""What a request came to that another application refused with an answer of its own."""

GATEWAY_PREFIX = "/api/compress/"
"""Below this path every answer, errors included, has the shape of the newer contract."""


async def serve_call(
    service: Service,
    scope: Scope,
    receive: Receive,
    send: Send,
    call: Call,
    parameters: Mapping[str, str],
) -> None:
    """Answer one request to the path of a call, whatever it is."""
    exchange = Exchange(scope, receive, send, service.deadlines)
    exchange.parameters = parameters
    exchange.max_answer_bytes = service.settings.max_answer_bytes
    exchange.newer_contract = _has_newer_shape(exchange)
    exchange.close = service.draining
    trace = Trace()
    code = "internal_error"
    try:
        answer = _admit(service, exchange, trace, call)
    except Refused as refused:
        code = await _refuse_at_once(service, exchange, refused)
        _record(service, exchange, trace, code, call)
        return
    assert exchange.slot is not None
    try:
        code = await _answer(service, exchange, trace, answer)
    finally:
        service.admission.leave(exchange.slot)
        _record(service, exchange, trace, code, call)


def _admit(service: Service, exchange: Exchange, trace: Trace, call: Call) -> Answer:
    """Look at the head of a request; returns what answers it, with a slot to answer it in.

    Raises:
        Refused: it is not to be answered, or not now. Nothing waits for its body.
    """
    if service.stopping:
        service.metrics.shed.labels("draining").inc()
        raise Refused("draining", "try again shortly")
    answer = call.methods.get(exchange.method)
    if answer is None:
        allow = [(b"allow", ", ".join(call.methods).encode())]
        detail = f"send a {' or '.join(call.methods)} request"
        raise Refused("method_not_allowed", detail, headers=allow)
    service.browsers.check(exchange, is_keyless=not len(service.keyring))
    tenant = service.keyring.tenant(exchange.headers)
    if tenant is None:
        raise Refused("unauthorized", "send one Authorization: Bearer KEY or X-API-Key: KEY")
    trace.tenant = tenant
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
    exchange.slot = entered
    return answer


async def _answer(service: Service, exchange: Exchange, trace: Trace, answer: Answer) -> str:
    """Serve the request; returns what it came to, for metrics and log."""
    try:
        if "id" in exchange.parameters:
            lookup.check_name(exchange.parameters["id"])
        await answer(service, exchange, trace)
        return "ok" if exchange.status < HTTPStatus.BAD_REQUEST else RELAYED
    except BytesInFlight as error:
        service.metrics.shed.labels(error.reason).inc()
        return await _refuse_at_once(service, exchange, refusal(error))
    except REFUSALS as error:
        if isinstance(error, Overloaded):
            service.metrics.shed.labels(error.reason).inc()
        return await _refuse(service, exchange, refusal(error))
    except ClientGone:
        return "client_gone"
    except asyncio.CancelledError:
        if exchange.status:
            raise
        # The server stops and waits no longer. Who can still read learns why.
        exchange.close = True
        await exchange.refuse(Refused("draining", "the server was stopped"))
        return "draining"
    except TimeoutError:
        refused = Refused("body_timeout", "the body did not arrive in time")
        return await _refuse_at_once(service, exchange, refused)
    except Exception:
        service.log.exception("request_failed", request_id=exchange.request_id)
        if exchange.status:
            raise
        return await _refuse(service, exchange, Refused("internal_error", "see the service's log"))


def _has_newer_shape(exchange: Exchange) -> bool:
    """Whether an answer has the shape of the newer contract whatever the request says."""
    return exchange.path.startswith(GATEWAY_PREFIX)


async def _refuse_at_once(service: Service, exchange: Exchange, refused: Refused) -> str:
    """Answer without waiting for the body; the connection ends where one is on its way."""
    exchange.close = exchange.close or exchange.has_body or refused.code in SHED
    try:
        await exchange.refuse(refused)
    except ClientGone:
        return "client_gone"
    return refused.code


async def _refuse(service: Service, exchange: Exchange, refused: Refused) -> str:
    settings = service.settings
    try:
        await exchange.drain(settings.max_body_bytes, min(settings.body_timeout_s, 1.0))
        await exchange.refuse(refused)
    except ClientGone:
        return "client_gone"
    return refused.code


def _record(service: Service, exchange: Exchange, trace: Trace, code: str, call: Call) -> None:
    """Make the span of the request, and leave the rest to be added up with that of others."""
    total = perf_counter() - exchange.started
    trace_id = ""
    if service.tracing is not None:
        outcome, shown = outcome_of(trace.decision, code), route(call, exchange.path)
        trace_id = service.tracing.record(exchange, trace, total, outcome, call.name, shown)
    identity, status, size = exchange.request_id, exchange.status, exchange.bytes_in
    service.records.add(
        Record(time(), call.name, code, status, total, identity, trace_id, size, trace)
    )
