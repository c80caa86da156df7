"""The search endpoint: bytes in, the names of a few tools out.

    headers → admission → key → body → envelope → catalogue (hit, or compile) → ranker → answer

Known catalogues are answered on the event loop in a fraction of a millisecond. An unknown one is
compiled beside it; if that would not be done within the latency budget, a cheaper ranker answers
now and the compile goes on for the next call.
"""

import asyncio
from dataclasses import dataclass, field
from hashlib import sha256
from time import perf_counter

import msgspec
import numpy as np

from toolscout.catalog.catalogue import Catalogue
from toolscout.catalog.tokencount import tool_tokens
from toolscout.catalog.toollist import NOT_JSON, ToolList
from toolscout.contract import (
    DEFAULT_TOP_K,
    Counts,
    GatewayAnswer,
    RelevantTools,
    SearchAnswer,
    SearchRequest,
    TokenCounts,
    is_absent,
)
from toolscout.errors import CatalogUnknown, EmptyPattern, FieldError, InvalidRequest
from toolscout.ranking import ladder
from toolscout.ranking.explain import explain, explain_cold
from toolscout.ranking.strategy import Ask, Decision, decide_cold
from toolscout.server.compiling import CompileJob
from toolscout.server.exchange import Exchange, decode_error
from toolscout.server.service import Service

_decode = msgspec.json.Decoder(SearchRequest).decode
_encode = msgspec.json.Encoder().encode

ENCODE_RESERVE_MS = 2.0
"""Time kept back for writing the answer when the budget is divided."""


@dataclass(slots=True)
class Trace:
    """What a request did, for its headers, its metrics and its line in the log."""

    tenant: str = ""
    pattern: str = ""
    top_k: int = DEFAULT_TOP_K
    cache: str = "-"
    catalog: str = ""
    offered: int = 0
    unique: int = 0
    decision: Decision | None = None
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds per phase."""


async def search(service: Service, exchange: Exchange, trace: Trace) -> None:
    """Answer one search.

    Raises:
        Refused, InvalidRequest, CatalogUnknown: the request is at fault.
    """
    settings = service.settings
    exchange.check_json()
    body = await exchange.body(settings.max_body_bytes, settings.body_timeout_s)
    arrived = perf_counter()
    request = decode_request(body)
    exchange.newer_contract = exchange.newer_contract or request.is_newer
    ask = to_ask(request, service)
    trace.pattern, trace.top_k = ask.pattern, ask.top_k
    budget_ms = whole("latency_budget_ms", request.latency_budget_ms) or settings.latency_budget_ms
    deadline = arrived + (budget_ms - ENCODE_RESERVE_MS) / 1_000

    source: Catalogue | ToolList
    if is_absent(request.tools):
        catalogue = by_digest(service, trace.tenant, request.catalog)
        trace.cache, trace.offered = "hit", len(catalogue)
    else:
        raw_hash = sha256(request.tools).digest()
        known = service.cache.by_alias(trace.tenant, raw_hash)
        catalogue = None
        if known is not None:
            catalogue, trace.offered = known
            trace.cache = "hit"
    trace.phases["decode"] = perf_counter() - arrived
    if catalogue is None:
        assert service.compiles is not None
        trace.cache = "miss"
        job = service.compiles.start(trace.tenant, raw_hash, bytes(request.tools))
        tools, catalogue = await _compiled(service, job, ask, deadline)
        trace.offered, trace.unique, trace.catalog = tools.offered, len(tools.tools), tools.digest
        trace.phases["compile"] = perf_counter() - arrived - trace.phases["decode"]
        if catalogue is None:
            began = perf_counter()
            decision = await asyncio.to_thread(decide_cold, tools, ask)
            spent = perf_counter() - began
            service.costs.learn("scan", spent * 1_000 / max(len(tools.tools), 1))
            trace.phases["rank"], trace.decision = spent, decision
            source = tools
    if catalogue is not None:
        source = catalogue
        trace.catalog, trace.unique = catalogue.digest, len(catalogue)
        if trace.cache == "hit":
            service.warm_at = perf_counter()
        _decide(service, catalogue, ask, deadline, trace)
    assert trace.decision is not None
    if request.explain:
        body = _explained(exchange, trace, source)
    else:
        body = _plain(exchange, trace.decision)
    await exchange.answer(200, body, _headers(trace, exchange))


def decode_request(body: bytes) -> SearchRequest:
    """Decode an envelope.

    Raises:
        Refused: it is not JSON, or a field is of the wrong type or out of bounds.
    """
    try:
        return _decode(body)
    except (msgspec.ValidationError, *NOT_JSON) as error:
        raise decode_error(error) from None


def to_ask(request: SearchRequest, service: Service) -> Ask:
    """The question in an envelope of either contract.

    Raises:
        InvalidRequest: both names of one field are given, or the pattern is missing.
        EmptyPattern: the pattern is blank.
    """
    for older, newer in (("pattern", "query"), ("top_k", "max_tools")):
        if getattr(request, older) is not None and getattr(request, newer) is not None:
            raise InvalidRequest(
                f"{older} and {newer} mean the same; send one of them",
                (FieldError(newer, f"not together with {older}"),),
            )
    pattern = request.pattern if request.pattern is not None else request.query
    if pattern is None:
        raise InvalidRequest("pattern is missing", (FieldError("pattern", "is required"),))
    if not pattern.strip():
        raise EmptyPattern("pattern is blank", (FieldError("pattern", "must not be blank"),))
    if is_absent(request.tools) and request.catalog is None:
        raise InvalidRequest(
            "tools is missing", (FieldError("tools", "is required, unless catalog is given"),)
        )
    return Ask(
        pattern=pattern,
        top_k=whole("top_k", request.top_k)
        or whole("max_tools", request.max_tools)
        or DEFAULT_TOP_K,
        always_keep=request.always_keep or (),
        ranker=request.ranker or service.settings.ranker,
        no_match=service.settings.no_match,
    )


def whole(field: str, value: float | None) -> int | None:
    """A whole number that may have been written as 5.0, as callers in some languages do.

    Raises:
        InvalidRequest: it has a fraction.
    """
    if value is not None and value % 1:
        message = "expected a whole number"
        raise InvalidRequest(f"{field}: {message}", (FieldError(field, message),))
    return None if value is None else int(value)


def by_digest(service: Service, tenant: str, digest: str | None) -> Catalogue:
    """The catalogue of a digest.

    Raises:
        CatalogUnknown: this tenant has not sent it to this process, or it was evicted.
    """
    catalogue = service.cache.by_digest(tenant, digest or "")
    if catalogue is None:
        raise CatalogUnknown("send the tools once more; the answer names their digest")
    return catalogue


async def _compiled(
    service: Service, job: CompileJob, ask: Ask, deadline: float
) -> tuple[ToolList, Catalogue | None]:
    """The distinct tools, and their catalogue if it is done in time to be used.

    The catalogue may lack its vectors; then it answers by words. None means that not even its
    words are indexed yet, and only a scan of the texts is left.
    """
    tools = await asyncio.shield(job.tools)
    count = len(tools.tools)
    reserve = service.costs.estimate("scan", count) / 1_000
    needed = service.costs.expected("compile", count) / 1_000
    by_words = ask.ranker in ("bm25", "regex")
    stage = job.lexical if by_words else job.complete
    began = perf_counter()
    if not stage.done() and began + needed <= deadline - reserve:
        await asyncio.wait([stage], timeout=deadline - reserve - began)
    if stage.done():
        service.costs.learn("compile", (perf_counter() - began) * 1_000 / max(count, 1))
        return tools, stage.result()
    if job.lexical.done():
        return tools, job.lexical.result()
    return tools, None


def _decide(
    service: Service, catalogue: Catalogue, ask: Ask, deadline: float, trace: Trace
) -> None:
    """Rank with the best ranker that fits into what is left of the budget."""
    assert service.engine is not None
    began = perf_counter()
    size = len(catalogue)
    remaining = (deadline - began) * 1_000
    step = ladder.affordable(ask.ranker, remaining, service.costs, size)
    decision = service.engine.decide(catalogue, ask, step)
    spent = perf_counter() - began
    service.costs.learn(f"{step or ask.ranker}:{ladder.bucket(size)}", spent * 1_000)
    trace.phases["rank"], trace.decision = spent, decision


def _plain(exchange: Exchange, decision: Decision) -> bytes:
    if not exchange.newer_contract:
        return _encode({"selected_names": decision.names})
    return _encode(_superset(SearchAnswer(decision.names)))


def _explained(exchange: Exchange, trace: Trace, source: Catalogue | ToolList) -> bytes:
    decision = trace.decision
    assert decision is not None
    ranking = decision.ranking
    if isinstance(source, Catalogue):
        matches, costs = explain(source, decision), source.tokens
    else:
        matches = explain_cold(source, decision)
        costs = np.array([tool_tokens(tool) for tool in source.tools], np.int64)
    offered, selected = int(costs.sum()), int(costs[decision.rows].sum())
    answer = SearchAnswer(
        selected_names=decision.names,
        matches=matches,
        outcome=decision.outcome,
        ranker=ranking.ranker,
        degraded=decision.degraded or "no",
        counts=Counts(
            offered=trace.offered,
            unique=trace.unique,
            ranked=int((ranking.scores > 0).sum()),
            selected=len(decision.names),
        ),
        tokens=TokenCounts(offered, selected, offered - selected),
        timings_ms={phase: round(spent * 1_000, 3) for phase, spent in trace.phases.items()},
        catalog=trace.catalog,
        notes=[ranking.note] if ranking.note else [],
    )
    return _encode(_superset(answer) if exchange.newer_contract else answer)


def _superset(answer: SearchAnswer) -> GatewayAnswer:
    """The same answer in the shape that every release of the proxy reads."""
    fields = msgspec.structs.asdict(answer)
    return GatewayAnswer(success=True, data=RelevantTools(answer.selected_names), **fields)


def _headers(trace: Trace, exchange: Exchange) -> list[tuple[bytes, bytes]]:
    decision = trace.decision
    assert decision is not None
    phases = trace.phases
    timing = ", ".join(f"{phase};dur={spent * 1_000:.3f}" for phase, spent in phases.items())
    selection = (
        f"{trace.unique}->{len(decision.names)}; ranker={decision.ranking.ranker}; "
        f"cache={trace.cache}; outcome={decision.outcome}; degraded={decision.degraded or 'no'}"
    )
    return [
        (b"server-timing", timing.encode()),
        (b"x-catalog-digest", trace.catalog.encode()),
        (b"x-tool-selection", selection.encode()),
    ]
