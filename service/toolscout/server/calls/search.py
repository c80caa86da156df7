"""The search endpoint, and the steps from a request to a decision that batch, hot and MCP share.

headers → admission → key → body → envelope → catalog (hit, or compile) → ranker → answer

Known catalogs are searched on the event loop in a fraction of a millisecond. An unknown one is
compiled outside it; if that takes longer than the latency budget, a cheaper ranker answers and the
compile goes on for the next call.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter

from toolscout.contract.requests import SearchRequest
from toolscout.engine import explain_unread
from toolscout.errors import TooLargeToKeep
from toolscout.index.catalog import Catalog
from toolscout.index.cold import ColdCatalog
from toolscout.index.embedder import Embedder
from toolscout.index.source import Source
from toolscout.ranking import ladder
from toolscout.ranking.ask import Ask, DecideOptions, Decision, Prior, Question
from toolscout.ranking.choose import Chain
from toolscout.ranking.pipeline import find_regex
from toolscout.server.calls import envelope
from toolscout.server.calls.answers import Showing, encode, write_headers
from toolscout.server.calls.envelope import R, Read
from toolscout.server.calls.expressions import scan
from toolscout.server.calls.lookup import (
    EXTERNAL,
    get_or_compile,
    resolve_shared,
    take_known,
)
from toolscout.server.calls.unknown_fields import UNUSED, check_spelling, show_fields
from toolscout.server.compiling.jobs import CompileJob, find_stage, get_finished, wait_for_best
from toolscout.server.compiling.scanning import add_source
from toolscout.server.compiling.scanning import scan as scan_words
from toolscout.server.compiling.work_threads import DEADLINE_S, run_in_thread
from toolscout.server.http.answer import RawAnswer
from toolscout.server.http.request import LimitedRequest
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service
from toolscout.settings import MIB
from toolscout.tools.filters import tenant_of

ENCODE_RESERVE_MS = 2.0
"""Milliseconds reserved for writing the answer when the budget is divided."""

MAX_ENCODE_S = 0.06
"""Maximum number of seconds for which a search waits until the transformer has read its query."""

INFERRED_AT_ONCE = 500
"""Maximum number of tools whose traits are inferred on the event loop, not in a thread."""

INDEXED_AT_ONCE = 30
"""Maximum number of tools indexed on the event loop for `okapi`, not in a thread."""

READ_S = 3.0
"""Least seconds that a new list has to be read, and as many more for each MiB: many times what it
takes, also while the worker is replaced, because until then there is nothing to answer by."""

SOONEST = 0.5
"""Share of its expected time in which a compile may be done; if not, words answer at once."""

_NOTHING_LEARNED = Prior(lambda query, vectors: None)
"""Of candidates in PostgreSQL, which differ from question to question: experience is looked up by
whole catalogs, and a decision about them is of no use to another question."""

OKAPI_TOOLS = 3_000
"""Maximum number of tools for `okapi`, which visits each of them for each word: some 2 ms."""


async def search(service: Service, request: LimitedRequest, trace: Trace) -> RawAnswer:
    """Select tools for a query.

    Names of at most `top_k` of the tools, most relevant first.
    """
    read = await read_call(service, request, trace, SearchRequest)
    sent = read.request
    request.newer_contract = request.newer_contract or envelope.is_newer(sent)
    ask = read.make_answerable(envelope.make_ask(sent, service.settings))
    deadline = set_deadline(service, request.arrived, sent.latency_budget_ms, cold=read.is_cold)
    trace.ask = ask
    trace.top_k = ask.top_k
    source = await find(service, read, trace, deadline, [trace])
    decision = await decide(service, trace, source, deadline, chained=bool(sent.complete_chain))
    await remember(service, trace, sent.turn, decision)
    answer = await Showing().answer(trace, decision, explained=bool(sent.explain))
    return RawAnswer(encode(answer, newer_contract=request.newer_contract), write_headers(trace))


async def compress(service: Service, request: LimitedRequest, trace: Trace) -> RawAnswer:
    """Select tools for a query, newer contract.

    The same selection for callers of the newer contract.
    """
    return await search(service, request, trace)


async def read_call(
    service: Service, request: LimitedRequest, trace: Trace, shape: type[R]
) -> Read[R]:
    """Read and decode a body, and look up the catalog that it names.

    Raises:
        Refused: the body is at fault.
        InvalidRequest: a field is misspelt.
    """
    body = await request.json_body(service.settings)
    read = await envelope.read(shape, body, service.cache, trace.space)
    if unknown := read.unknown:
        if request.newer_contract or envelope.is_newer(read.request):
            unknown = tuple(name for name in unknown if name not in UNUSED)
        else:
            check_spelling(unknown, shape.__struct_fields__)
        trace.ignored = show_fields(unknown)
    read = await resolve_shared(service, trace.space, read)
    trace.phases["decode"] = perf_counter() - request.arrived
    return read


def set_deadline(
    service: Service, began: float, budget_ms: float | None = None, *, cold: bool = False
) -> float:
    """Return the deadline of a decision, as a time of `perf_counter`.

    Without a budget of its own, a request about tools that are not compiled yet has more time.
    """
    settings = service.settings
    usual_ms = settings.cold_budget_ms if cold else settings.latency_budget_ms
    return began + ((budget_ms or usual_ms) - ENCODE_RESERVE_MS) / 1_000


async def find(
    service: Service, read: Read[R], trace: Trace, deadline: float, parts: Sequence[Trace]
) -> Source:
    """Return the catalog of a request, without an index if it cannot be compiled in time.

    `parts` are the traces of its questions. Those to a catalog without an index are answered by
    words before this returns.

    Raises:
        InvalidRequest, CatalogUnknown: the tools are at fault, or their digest.
            Overloaded: the process is busy with other tools for longer than the budget.
    """
    asks = [part.ask for part in parts]
    left_s = deadline - perf_counter()
    catalog = await take_known(service, read, trace, asks, within_s=left_s)
    if catalog is not None:
        return catalog
    trace.cache = "miss"
    began = perf_counter()
    source = await _compile(service, read, trace, deadline, parts)
    scanned = sum(part.phases.get("rank", 0.0) for part in parts)
    trace.phases["compile"] = perf_counter() - began - scanned
    trace.catalog = source.digest
    trace.unique = len(source)
    return source


async def find_compiled(
    service: Service,
    read: Read[R],
    trace: Trace,
    asks: Sequence[Ask] = (),
    names: Sequence[str] = (),
) -> Catalog:
    """Return the catalog of a request, with at least its words compiled.

    Of one that is not held here only the tools for the questions, and those of the names.

    Raises:
        InvalidRequest, CatalogUnknown: the tools are at fault, or their digest.
    """
    catalog = await take_known(service, read, trace, asks, names)
    began = perf_counter()
    if catalog is None:
        catalog = await get_or_compile(service, trace, bytes(read.request.tools), read.raw_hash)
        trace.phases["compile"] = perf_counter() - began
    return catalog


async def decide(  # what a decision depends on
    service: Service,
    trace: Trace,
    catalog: Source,
    deadline: float,
    *,
    chained: bool = False,
    waits: bool = True,
) -> Decision:
    """Answer the question of a trace with the best ranker that fits into the rest of the budget.

    For a catalog without an index, `find` has already made the decision. The decision is stored in
    the trace, from which metrics, usage and log are written. `chained` adds the next tools of a
    known chain. One of several questions of a request does not wait until the transformer has read
    it: that time is the others'. The cost of matching a regular expression is estimated separately
    from the ranker's.
    """
    if trace.decision is not None:
        return trace.decision
    assert isinstance(catalog, Catalog)
    ask = trace.ask
    began = perf_counter()
    needs_traits = ask.filters is not None or ask.context is not None
    if needs_traits and not catalog.facets.ready and len(catalog) > INFERRED_AT_ONCE:
        await run_in_thread(catalog.facets.prepare)
    size = len(catalog)
    if ask.ranker == "okapi" and not catalog.texts.ready and INDEXED_AT_ONCE < size <= OKAPI_TOOLS:
        await run_in_thread(catalog.texts.prepare)
    pattern = find_regex(ask)
    matches = None
    step = None if pattern is None else _find_substitute(service, catalog, ask, deadline)
    if pattern is not None and step is None:
        matches = await scan(service, trace.tenant, catalog, pattern, deadline)
    prior, chain = _find_experience(service, trace, catalog, chained=chained)
    encoder = service.engine.embedder.encoder
    if encoder is not None and trace.cache != EXTERNAL:
        encoder.open(catalog, trace.space, in_background=True)
    options: DecideOptions = {"degraded": step, "prior": prior, "chain": chain, "scan": matches}
    decision = service.engine.recall(catalog, ask, **options)
    spent = perf_counter() - began
    if decision is None:

        def read_question() -> Question:
            if pattern is None:
                options["degraded"] = _find_substitute(service, catalog, ask, deadline)
            return catalog, ask, options

        decision, seconds = await service.together.decide(size, read_question)
        spent += seconds
        if waits and await _wait_for_query(decision, deadline - 2 * seconds):
            again, seconds = await service.together.decide(size, read_question)
            spent += seconds
            decision = again if again.degraded == decision.degraded else decision
    trace.decision = decision
    if trace.cache != EXTERNAL:  # else the tokens of all tools are not known
        trace.source = catalog
    trace.phases["rank"] = spent
    return decision


async def _wait_for_query(decision: Decision, deadline: float) -> bool:
    """Wait until the transformer has read the query of a decision; return whether it has."""
    unread = explain_unread(decision)
    left_s = deadline - perf_counter()
    if unread is None or unread.query is None or left_s <= 0:
        return False
    await asyncio.wait([asyncio.wrap_future(unread.query)], timeout=min(left_s, MAX_ENCODE_S))
    return unread.query.done()


def _find_substitute(service: Service, catalog: Catalog, ask: Ask, deadline: float) -> str | None:
    """Return the ranker to run in place of that of a question; None if that one fits."""
    size = len(catalog)
    left_ms = (deadline - perf_counter()) * 1_000
    step = ladder.find_affordable(ask.ranker, left_ms, service.costs, size)
    if step is None:
        return "bm25" if ask.ranker == "okapi" and size > OKAPI_TOOLS else None
    if _is_lost_by_words(catalog, ask, service.engine.embedder):
        return None  # a late answer, but words would find nothing
    return step


def _find_experience(
    service: Service, trace: Trace, catalog: Catalog, *, chained: bool
) -> tuple[Prior | None, Chain | None]:
    """Return what was learned of a catalog's tools, and the chain for a question if asked for."""
    if trace.cache == EXTERNAL:
        return _NOTHING_LEARNED, None
    learner = service.learner
    if learner is None:
        return service.engine.examples.of(catalog, trace.tenant), None
    chain = learner.chain(trace.tenant, trace.ask.ranking_part, catalog) if chained else None
    return learner.prior(trace.tenant, catalog), chain


def _is_lost_by_words(catalog: Catalog, ask: Ask, embedder: Embedder) -> bool:
    """Return whether only meaning can find tools for a question, and the catalog has vectors."""
    has_meaning = ask.ranker in ("auto", "hybrid", "rrf", "semantic")
    return (
        has_meaning
        and catalog.vectors is not None
        and embedder.is_in_other_language(ask.ranking_part)
    )


async def remember(service: Service, trace: Trace, turn: str | None, decision: Decision) -> None:
    """Remember the turn of a search, if it has one, for feedback that names it."""
    if turn:
        trace.turn = turn
        if service.learner is not None:
            await service.learner.remember(trace.tenant, turn, decision)


async def _compile(
    service: Service, read: Read[R], trace: Trace, deadline: float, parts: Sequence[Trace]
) -> Source:
    """Compile new tools, or answer by their words if time is short.

    A catalog without vectors answers by words. If not even its words can be indexed in time, the
    texts are scanned.
    """
    raw = bytes(read.request.tools)
    costs = service.costs
    left_ms = (deadline - perf_counter()) * 1_000
    # Patience with a new list is no room for more of them at once.
    is_asked_for = getattr(read.request, "latency_budget_ms", None) is not None
    wait_ms = left_ms if is_asked_for else min(left_ms, service.settings.latency_budget_ms)
    with service.admission.count_unknown(trace.tenant, len(raw) / 1_024, costs, wait_ms):
        job = service.compiles.start(trace.space, read.raw_hash, raw)
        patience = max(left_ms / 1_000, READ_S * (1 + len(raw) / MIB))
        listing = await service.compiles.wait_for_stage(job.listing, min(patience, DEADLINE_S))
        trace.offered = listing.offered
        trace.skipped = listing.skipped
        count = listing.unique
        stage = find_stage(job, parts[0].ask.ranker)
        scan_s = costs.estimate("scan", count * len(parts)) / 1_000
        left = deadline - scan_s - perf_counter()
        # Assume that the compiles before this one have its size.
        queued = costs.expected("compile", count) * service.compiles.sum_ahead(trace.tenant) / 1_000
        soonest = SOONEST * queued
        if soonest > left and queued <= scan_s:
            left = scan_s  # words would be no sooner
        elif soonest > left and not stage.done():
            # Before the compile has a turn.
            return await _answer_by_words(service, parts, job)
    await asyncio.wait([stage], timeout=max(left, 0.0))
    has_words = get_finished(job.lexical) is not None
    if has_words and (catalog := await wait_for_best(job, stage, deadline)) is not None:
        return catalog  # nothing has to be scanned
    return await _answer_by_words(service, parts, job)


async def _answer_by_words(
    service: Service, parts: Sequence[Trace], job: CompileJob
) -> ColdCatalog:
    """Answer by the words in names and descriptions, in the worker process."""
    asks = [part.ask for part in parts]
    sent = job.sent
    scanned = await service.compiles.run(tenant_of(sent.space), scan_words, sent, asks)
    refused = job.complete.exception() if job.complete.done() else None
    note = refused.detail if isinstance(refused, TooLargeToKeep) else None
    catalog = scanned.catalog(service.engine.compiler.taxonomy)
    for trace, decision, spent in zip(parts, scanned.decisions, scanned.seconds, strict=True):
        trace.decision = add_source(decision, catalog, note)
        trace.phases["rank"] = spent
        service.costs.learn("scan", spent * 1_000 / max(len(catalog), 1))
    return catalog
