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
from toolscout.index.catalog import Catalog
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
from toolscout.server.calls.new_lists import compile_or_scan
from toolscout.server.calls.unknown_fields import UNUSED, check_spelling, show_fields
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.server.http.answer import RawAnswer
from toolscout.server.http.request import LimitedRequest
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service

ENCODE_RESERVE_MS = 2.0
"""Milliseconds reserved for writing the answer when the budget is divided."""

MAX_ENCODE_S = 0.06
"""Maximum number of seconds for which a search waits until the transformer has read its query."""

INFERRED_AT_ONCE = 500
"""Maximum number of tools whose traits are inferred on the event loop, not in a thread."""

INDEXED_AT_ONCE = 30
"""Maximum number of tools indexed on the event loop for `okapi`, not in a thread."""

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
    source = await compile_or_scan(service, read, trace, deadline, parts)
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
