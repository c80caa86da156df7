"""The other questions about a tool list: many patterns at once, names, and the relevance filter.

Each takes `tools` or the digest of tools that were sent before, and passes through the same
admission, keys, limits and errors as a search.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from hashlib import sha256
from time import perf_counter

import msgspec

from toolscout.contract import (
    BatchAnswer,
    BatchRequest,
    BatchResult,
    FilterAnswer,
    FilterRequest,
    ResolveAnswer,
    ResolveRequest,
    SearchAnswer,
    Tool,
    is_absent,
)
from toolscout.errors import NOT_JSON
from toolscout.index.catalog import Catalog
from toolscout.index.tool_list import ToolList
from toolscout.ranking.ask import Ask
from toolscout.ranking.resolve import Resolver
from toolscout.server.calls import answers
from toolscout.server.calls.search import (
    BYTES_PER_TOOL,
    ENCODE_RESERVE_MS,
    SHOWN_AT_ONCE,
    by_digest,
    cold,
    decide_one,
    prepare,
    read_body,
    scan_one,
)
from toolscout.server.compiling.lookup import compiled, start, with_shared
from toolscout.server.compiling.work_threads import Deadline, beside, run_in_thread
from toolscout.server.http import bodies, envelope
from toolscout.server.http.answer import Answer, answer_json
from toolscout.server.http.envelope import Decode, R, Read
from toolscout.server.http.request import Request
from toolscout.server.observe.trace import Trace
from toolscout.server.observe.usage import Note
from toolscout.server.service import Service
from toolscout.text.relevance import MAX_TOOLS, MIN_TOOLS, TARGET_RATIO, Candidate, keep_relevant
from toolscout.tools.documents import read_tool

AT_ONCE = 500
"""Tools or names times tools that are compared on the event loop; more go into a thread."""

_batch = bodies.decoder(BatchRequest)
_resolve = bodies.decoder(ResolveRequest)
_filter = bodies.decoder(FilterRequest)


async def search_batch(service: Service, request: Request, trace: Trace) -> Answer:
    """Answer several searches of the same tools, in order.

    Raises:
        Refused, InvalidRequest, CatalogUnknown: the request is at fault.
    """
    settings = service.settings
    read, arrived = await read_call(service, request, trace, _batch)
    sent = read.request
    asks = envelope.to_asks(sent, settings)
    budget_ms = envelope.whole("latency_budget_ms", sent.latency_budget_ms)
    deadline = arrived + ((budget_ms or settings.latency_budget_ms) - ENCODE_RESERVE_MS) / 1_000
    trace.top_k = asks[0].top_k
    traces = [replace(trace, pattern=ask.pattern, phases={}) for ask in asks]
    by_words = partial(_scan_all, service, asks, traces)
    source: Catalog | ToolList
    if read.known is None and not is_absent(sent.tools):
        trace.cache = "miss"
        trace.phases["decode"] = perf_counter() - arrived
        ranker, count = asks[0].ranker, len(asks)
        source = await cold(service, read, ranker, deadline, trace, by_words, count)
        trace.phases["compile"] = perf_counter() - arrived - trace.phases["decode"]
    else:
        source = _known(service, read, trace)
        trace.phases["decode"] = perf_counter() - arrived
    unique = len(source) if isinstance(source, Catalog) else len(source.tools)
    trace.catalog, trace.unique = source.digest, unique
    assert service.engine is not None
    taxonomy = service.engine.compiler.taxonomy
    if isinstance(source, Catalog):
        await prepare(source, asks[0])
    results = []
    shown = nbytes = 0
    for ask, one in zip(asks, traces, strict=True):
        one.catalog, one.unique, one.offered = trace.catalog, unique, trace.offered
        one.passed_over = trace.passed_over
        if isinstance(source, Catalog):
            chained = bool(sent.complete_chain)
            await decide_one(service, source, ask, deadline, one, chained=chained)
            await asyncio.sleep(0)  # others have their turn between two patterns
        assert one.decision is not None
        explained = bool(sent.explain)
        if explained or ask.detail or ask.definitions:
            shown += len(one.decision.names)
            size = answers.shown_bytes(source, one.decision, ask)
            nbytes += size
            answers.check_shown(shown, nbytes, settings)
            rich = partial(answers.with_reasons, one, source, ask, taxonomy, explained=explained)
            weight = max(len(one.decision.names), size // BYTES_PER_TOOL)
            found = await beside(weight, SHOWN_AT_ONCE, rich)
        else:
            found = SearchAnswer(one.decision.names)
        results.append(BatchResult(pattern=ask.pattern, **msgspec.structs.asdict(found)))
        selected, outcome = len(one.decision.names), one.decision.outcome
        service.metrics.count_decision(trace.cache, unique, selected, outcome)
        service.tally.note(Note(trace.tenant, one.decision, trace.cache, one.phases, one.source))
        if one.decision.degraded:
            service.metrics.degraded.labels(one.decision.degraded).inc()
    trace.phases["rank"] = sum(one.phases.get("rank", 0.0) for one in traces)
    return answer_json(BatchAnswer(results), answers.common_headers(trace))


async def resolve(service: Service, request: Request, trace: Trace) -> Answer:
    """Find the tools that written names stand for.

    Raises:
        Refused, InvalidRequest, CatalogUnknown: the request is at fault.
    """
    read, arrived = await read_call(service, request, trace, _resolve)
    names = read.request.names
    catalog = await compiled_call(service, read, arrived, trace)
    began = perf_counter()
    resolver, size = Resolver(catalog, Deadline()), len(names) * len(catalog)
    results = await beside(size, AT_ONCE, lambda: list(map(resolver.resolve, names)))
    trace.phases["rank"] = perf_counter() - began
    return answer_json(ResolveAnswer(results), answers.common_headers(trace))


async def filter_tools(service: Service, request: Request, trace: Trace) -> Answer:
    """Split tools into those to keep in front of a model and those to defer, by shared words.

    Equals keep the order of `tools`; by digest, that of their names.

    Raises:
        Refused, InvalidRequest, CatalogUnknown: the request is at fault.
    """
    body = await request.json_body(service.settings)
    arrived = request.arrived
    # Not by the short cut for known tools: a catalog does not keep the order they came in.
    sent = envelope.decode(body, _filter)
    envelope.need_tools(sent)
    sent = (await with_shared(service, trace.tenant, Read(sent, None, b""))).request
    min_tools = envelope.whole("min_tools", sent.min_tools)
    max_tools = envelope.whole("max_tools", sent.max_tools)
    split = partial(
        _split,
        await _in_order(service, sent, trace),
        sent,
        MIN_TOOLS if min_tools is None else min_tools,
        MAX_TOOLS if max_tools is None else max_tools,
        service.settings.max_pattern_chars,
    )
    began = perf_counter()
    trace.phases["decode"] = began - arrived
    found = await beside(trace.unique, AT_ONCE, split)
    trace.phases["rank"] = perf_counter() - began
    return answer_json(found, answers.common_headers(trace))


async def read_call(
    service: Service, request: Request, trace: Trace, decoder: Decode[R]
) -> tuple[Read[R], float]:
    """The request, and when its body had arrived."""
    read = await read_body(service, request, trace, decoder)
    envelope.need_tools(read.request)
    return await with_shared(service, trace.tenant, read), request.arrived


def _known(service: Service, read: Read[R], trace: Trace) -> Catalog:
    """The catalog that was recognised by its bytes, or is named by its digest."""
    trace.cache = "hit"
    if read.known is not None:
        trace.offered, trace.passed_over = read.known.offered, read.known.passed_over
        return read.known.catalog
    catalog = by_digest(service, trace.tenant, read.request.catalog)
    trace.offered = len(catalog)
    return catalog


async def compiled_call(service: Service, read: Read[R], arrived: float, trace: Trace) -> Catalog:
    """The catalog of a request, compiled first where it is new, as far as its words go."""
    if read.known is not None or is_absent(read.request.tools):
        catalog = _known(service, read, trace)
        trace.catalog, trace.unique = catalog.digest, len(catalog)
    else:
        trace.cache = "miss"
        catalog = await compiled(service, trace, bytes(read.request.tools), read.raw_hash)
    trace.phases["decode"] = perf_counter() - arrived
    return catalog


async def _in_order(service: Service, request: FilterRequest, trace: Trace) -> list[Tool]:
    """The tools as they were sent, each name once; new ones are compiled for later calls."""
    if is_absent(request.tools):
        trace.cache = "hit"
        catalog = by_digest(service, trace.tenant, request.catalog)
        trace.catalog, trace.unique = catalog.digest, len(catalog)
        trace.offered = len(catalog)
        return await beside(len(catalog), AT_ONCE, _listed, catalog)
    raw = bytes(request.tools)
    raw_hash = sha256(raw).digest()
    if service.cache.by_alias(trace.tenant, raw_hash) is None:
        trace.cache = "miss"
        found = await asyncio.shield(start(service, trace.tenant, raw, raw_hash).tools)
    else:
        trace.cache = "hit"
        found = await run_in_thread(ToolList.decode, raw, service.settings.max_tools)
    trace.catalog, trace.unique, trace.offered = found.digest, len(found.tools), found.offered
    order = sorted(range(len(found.tools)), key=found.places.__getitem__)
    return _available(found.tools[row] for row in order)


def _available(tools: Iterable[Tool]) -> list[Tool]:
    return [tool for tool in tools if tool.status != "unavailable"]


def _listed(catalog: Catalog) -> list[Tool]:
    return _available(catalog.tool(row) for row in range(len(catalog)))


def _split(
    tools: list[Tool],
    request: FilterRequest,
    min_tools: int,
    max_tools: int,
    max_query_chars: int,
) -> FilterAnswer:
    ratio = TARGET_RATIO if request.target_ratio is None else request.target_ratio
    kept, deferred = keep_relevant(
        [Candidate(tool.name, _description(tool)) for tool in tools],
        request.query,
        min_tools=min_tools,
        max_tools=max_tools,
        target_ratio=ratio,
        always_keep=request.always_keep or (),
        recent=request.recent or (),
        expanded=request.expanded or (),
        max_query_chars=max_query_chars,
        pause=Deadline(),
    )
    return FilterAnswer(kept, deferred)


def _description(tool: Tool) -> str:
    """The description, from the definition where it only stands there."""
    if tool.description is not None:
        return tool.description
    try:
        return read_tool(tool).said
    except NOT_JSON:
        return ""


async def _scan_all(
    service: Service, asks: list[Ask], traces: list[Trace], tools: ToolList
) -> None:
    for ask, one in zip(asks, traces, strict=True):
        await scan_one(service, ask, one, tools)
