"""The search endpoint: bytes in, the names of a few tools out.

    headers → admission → key → body → envelope → catalog (hit, or compile) → ranker → answer

Known catalogs are answered on the event loop in a fraction of a millisecond. An unknown one is
compiled beside it; if that would not be done within the latency budget, a cheaper ranker answers
now and the compile goes on for the next call.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter

from toolscout.contract import SearchRequest, is_absent
from toolscout.errors import CatalogUnknown, Overloaded
from toolscout.index.catalog import Catalog
from toolscout.index.tool_list import ToolList
from toolscout.ranking import ladder
from toolscout.ranking.ask import Ask
from toolscout.ranking.pipeline import decide_cold, ranking_part
from toolscout.server.calls import answers
from toolscout.server.calls.patterns import scan
from toolscout.server.compiling.breathing import ReadBreath
from toolscout.server.compiling.lookup import start, with_shared
from toolscout.server.compiling.work_threads import beside, run_in_thread
from toolscout.server.http import bodies, envelope
from toolscout.server.http.answer import Answer
from toolscout.server.http.request import Request
from toolscout.server.observe.trace import Trace
from toolscout.server.service import Service

_decode = bodies.decoder(SearchRequest)

ENCODE_RESERVE_MS = 2.0
"""Time kept back for writing the answer when the budget is divided."""

SHOWN_AT_ONCE = 100
"""Selected tools that are explained or shown on the event loop; more take milliseconds, in a
thread."""

BYTES_PER_TOOL = 2_048
"""Bytes of shown tools that take as long as one tool."""

INFERRED_AT_ONCE = 500
"""Tools whose traits are inferred on the event loop; more take milliseconds, in a thread."""


async def search(service: Service, request: Request, trace: Trace) -> Answer:
    """Answer one search.

    Raises:
        Refused, InvalidRequest, CatalogUnknown: the request is at fault.
    """
    settings = service.settings
    read = await read_body(service, request, trace, _decode)
    arrived = request.arrived
    if read.known is None:
        read = await with_shared(service, trace.tenant, read)
    sent = read.request
    request.newer_contract = newer = request.newer_contract or sent.is_newer
    ask = envelope.to_ask(sent, settings)
    budget_ms = envelope.whole("latency_budget_ms", sent.latency_budget_ms)
    deadline = arrived + ((budget_ms or settings.latency_budget_ms) - ENCODE_RESERVE_MS) / 1_000
    trace.pattern, trace.top_k, trace.cache = ask.pattern, ask.top_k, "hit"

    source: Catalog | ToolList
    if read.known is not None:
        source, trace.offered = read.known.catalog, read.known.offered
        trace.passed_over = read.known.passed_over
    elif is_absent(sent.tools):
        source = by_digest(service, trace.tenant, sent.catalog)
        trace.offered = len(source)
    else:
        trace.phases["decode"] = perf_counter() - arrived
        trace.cache = "miss"
        by_words = partial(scan_one, service, ask, trace)
        source = await cold(service, read, ask.ranker, deadline, trace, by_words)
        elapsed = perf_counter() - arrived - trace.phases["decode"]
        trace.phases["compile"] = elapsed - trace.phases.get("rank", 0.0)
    if trace.cache == "hit":
        service.warm_at = perf_counter()
        trace.phases["decode"] = service.warm_at - arrived
    if isinstance(source, Catalog):
        trace.catalog, trace.unique = source.digest, len(source)
        await prepare(source, ask)
        chained = bool(sent.complete_chain)
        await decide_one(service, source, ask, deadline, trace, chained=chained)
    else:
        trace.catalog, trace.unique = source.digest, len(source.tools)
    assert trace.decision is not None
    if sent.explain or ask.detail or ask.definitions:
        assert service.engine is not None
        rich = partial(
            answers.rich,
            trace,
            source,
            ask,
            service.engine.compiler.taxonomy,
            explained=bool(sent.explain),
            newer_contract=newer,
        )
        shown, nbytes = len(trace.decision.names), answers.shown_bytes(source, trace.decision, ask)
        answers.check_shown(shown, nbytes, settings)
        text = await beside(max(shown, nbytes // BYTES_PER_TOOL), SHOWN_AT_ONCE, rich)
    else:
        text = answers.plain(trace.decision, newer)
    if service.shadow is not None:
        service.shadow.follow(source, ask, trace.decision)
    return Answer(text, answers.headers(trace))


async def read_body(
    service: Service, request: Request, trace: Trace, decoder: envelope.Decode[envelope.R]
) -> envelope.Read[envelope.R]:
    """Read and decode a body.

    Raises:
        Refused: the body is at fault.
    """
    body = await request.json_body(service.settings)
    return await envelope.read(decoder, body, service.cache, trace.tenant)


def by_digest(service: Service, tenant: str, digest: str | None) -> Catalog:
    """The catalog that a request names instead of sending tools.

    Raises:
        CatalogUnknown: this tenant has not sent it to this process, or it was evicted.
    """
    catalog = service.cache.by_digest(tenant, digest or "")
    if catalog is None:
        raise CatalogUnknown("send the tools once more; the answer names their digest")
    return catalog


async def cold(
    service: Service,
    read: envelope.Read,
    ranker: str,
    deadline: float,
    trace: Trace,
    by_words: Callable[[ToolList], Awaitable[None]],
    patterns: int = 1,
) -> Catalog | ToolList:
    """The catalog of tools seen for the first time, if it is done in time to be used.

    It may lack its vectors; then it answers by words. Where not even their words would be indexed
    in time, the texts are scanned (`by_words`, for so many patterns) and the bare tools returned.

    Raises:
        InvalidRequest: the tools are at fault.
        Overloaded: the tools of others keep this process busy for longer than there is time.
    """
    raw = bytes(read.request.tools)
    assert service.compiles is not None
    costs, left_ms = service.costs, (deadline - perf_counter()) * 1_000
    with (
        service.urgent(),
        service.admission.unknown_tools(trace.tenant, len(raw) / 1_024, costs, left_ms),
    ):
        job = start(service, trace.tenant, raw, read.raw_hash)
        tools = await asyncio.shield(job.tools)
        trace.offered, trace.passed_over = tools.offered, tools.passed_over
        count = len(tools.tools)
        stage = job.lexical if ranker in ("bm25", "regex") else job.complete
        reserve = costs.estimate("scan", count * patterns) / 1_000
        left = deadline - reserve - perf_counter()
        # The compiles before this one are taken to be of its size.
        queued = costs.expected("compile", count) * service.compiles.ahead(trace.tenant)
        if not stage.done() and queued / 1_000 > left:
            await by_words(tools)  # before the compile gets a turn
            return tools
    with service.patient():
        await asyncio.wait([stage], timeout=max(left, 0.0))
    found = _finished(stage) or _finished(job.lexical)
    if found is not None:
        return found
    with service.urgent():
        await by_words(tools)
    return tools


def _finished(stage: "asyncio.Future[Catalog]") -> Catalog | None:
    """What a stage made; None when it is not done, or there was no room to compile."""
    if not stage.done() or isinstance(stage.exception(), Overloaded):
        return None
    return stage.result()


async def prepare(catalog: Catalog, ask: Ask) -> None:
    """Infer the traits of a large catalog beside the event loop, where a question needs them."""
    if ask.filters is None and ask.context is None:
        return
    if not catalog.facets.ready and len(catalog) > INFERRED_AT_ONCE:
        await run_in_thread(catalog.facets.prepare)


async def scan_one(service: Service, ask: Ask, trace: Trace, tools: ToolList) -> None:
    """Answer by the words in names and descriptions, beside the event loop."""
    began = perf_counter()
    assert service.engine is not None
    taxonomy = service.engine.compiler.taxonomy
    breathe = ReadBreath(service.answering)
    trace.decision = await run_in_thread(decide_cold, tools, ask, taxonomy, breathe)
    trace.phases["rank"] = spent = perf_counter() - began
    service.costs.learn("scan", spent * 1_000 / max(len(tools.tools), 1))


async def decide_one(
    service: Service,
    catalog: Catalog,
    ask: Ask,
    deadline: float,
    trace: Trace,
    *,
    chained: bool = False,
) -> None:
    """Rank with the best ranker that fits into what is left of the budget.

    `chained` gives free slots to the next tools of a known chain. What matching a regular
    expression costs is learned apart: it says nothing of the ranker.
    """
    assert service.engine is not None
    began = perf_counter()
    size = len(catalog)
    remaining = (deadline - began) * 1_000
    step = ladder.affordable(ask.ranker, remaining, service.costs, size)
    found = None
    if step is None:
        found = await scan(service, trace.tenant, catalog, ask, deadline)
    ranking = perf_counter()
    learner = service.learner
    prior = None if learner is None else learner.prior(trace.tenant, catalog)
    chain = None
    if chained and learner is not None:
        chain = learner.chain(trace.tenant, ranking_part(ask), catalog)
    trace.decision = service.engine.decide(catalog, ask, step, prior, chain, found)
    trace.source = catalog
    ended = perf_counter()
    trace.phases["rank"] = ended - began
    ran = "keyword" if found is not None and found.too_costly else step or ask.ranker
    service.costs.learn(f"{ran}:{ladder.bucket(size)}", (ended - ranking) * 1_000)
