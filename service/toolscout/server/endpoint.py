"""What surrounds every call: admission, the key, errors as answers, metrics and the log."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from math import ceil
from time import perf_counter

from litestar.types import Receive, Scope, Send

from toolscout.errors import InvalidJson, InvalidRequest, Overloaded, TooManyTools
from toolscout.server import sharing
from toolscout.server.admission import BytesInFlight
from toolscout.server.answer import Trace
from toolscout.server.exchange import REFUSALS, ClientGone, Exchange, Refused, refusal
from toolscout.server.log import RequestLine, hashed
from toolscout.server.routes import Answer, Call, route
from toolscout.server.service import Service
from toolscout.server.tally import Note

FAULTS_OF_TOOLS = (InvalidJson, InvalidRequest, TooManyTools)
"""What a wrong guess at where the tools stand ends in; the body is then read without one."""

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
            sharing.check_name(exchange.parameters["id"])
        await _answer_guessing(service, exchange, trace, answer)
        return "ok" if exchange.status < HTTPStatus.BAD_REQUEST else RELAYED
    except BytesInFlight as error:
        service.metrics.shed.labels("bytes_in_flight").inc()
        return await _refuse_at_once(service, exchange, refusal(error))
    except REFUSALS as error:
        if isinstance(error, Overloaded):
            service.metrics.shed.labels("unknown_tools").inc()
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


async def _answer_guessing(
    service: Service, exchange: Exchange, trace: Trace, answer: Answer
) -> None:
    """Answer, and once more without a guess where a guess at the tools failed."""
    try:
        await answer(service, exchange, trace)
    except FAULTS_OF_TOOLS:
        if not trace.guessed:
            raise
        exchange.guess = trace.guessed = False
        exchange.newer_contract = _has_newer_shape(exchange)
        await answer(service, exchange, trace)


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
    """Count the request and write its line."""
    metrics, decision, name = service.metrics, trace.decision, call.name
    total = perf_counter() - exchange.started
    outcome = decision.outcome if decision is not None and code == "ok" else code
    if name == "search":
        metrics.count_request(outcome)
        metrics.observe("total", total)
        for phase, spent in trace.phases.items():
            metrics.observe(phase, spent)
    else:
        metrics.count_call(name, code, total)
    if decision is not None:
        phases = trace.phases | {"total": total}
        note = Note(trace.tenant, decision, trace.cache, phases, trace.source)
        service.tally.note(note)
        metrics.count_decision(trace.cache, trace.unique, len(decision.names), decision.outcome)
        if decision.degraded:
            metrics.degraded.labels(decision.degraded).inc()
    elif trace.degraded:
        metrics.degraded.labels(trace.degraded).inc()
    trace_id = ""
    if service.tracing is not None:
        shown = route(call, exchange.path)
        trace_id = service.tracing.record(exchange, trace, total, outcome, name, shown)
    mode = service.settings.log
    if mode == "off":
        return
    line = RequestLine(
        time=datetime.now(UTC),
        level="error" if code == "internal_error" else "info",
        event=name,
        request_id=exchange.request_id,
        trace_id=trace_id,
        tenant=trace.tenant,
        status=exchange.status,
        outcome=outcome,
        cache=trace.cache,
        catalog=trace.catalog[:16],
        pattern_hash=hashed(trace.pattern) if trace.pattern else "",
        top_k=trace.top_k,
        offered=trace.offered,
        unique=trace.unique,
        degraded=trace.degraded,
        bytes_in=exchange.bytes_in,
        total_ms=round(total * 1_000, 3),
        phases_ms={phase: round(spent * 1_000, 3) for phase, spent in trace.phases.items()},
    )
    if decision is not None:
        line.ranker = decision.ranking.ranker
        line.degraded = decision.degraded or "no"
        line.selected = len(decision.names)
        if mode == "full":
            line.pattern, line.selected_names = trace.pattern, decision.names
    service.writer.write(line)
