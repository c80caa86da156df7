"""The other questions about a tool list: many patterns at once, names, and the relevance filter.

Each takes `tools` or the digest of tools that were sent before, and passes through the same
admission, keys, limits and errors as a search.
"""

import asyncio
from collections.abc import Iterable
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
    Tool,
    is_absent,
)
from toolscout.errors import NOT_JSON
from toolscout.index.catalog import Catalog
from toolscout.index.tool_list import ToolList
from toolscout.ranking.resolve import Resolver
from toolscout.server.calls import answers
from toolscout.server.calls.decide import (
    by_digest,
    deadline_of,
    decide,
    find,
    find_compiled,
    read_call,
)
from toolscout.server.compiling.lookup import start, with_shared
from toolscout.server.compiling.work_threads import Deadline, beside, run_in_thread
from toolscout.server.http import bodies, envelope
from toolscout.server.http.answer import Answer, answer_json
from toolscout.server.http.envelope import Read
from toolscout.server.http.request import Request
from toolscout.server.observe.trace import Trace
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
    read = await read_call(service, request, trace, _batch)
    sent = read.request
    envelope.need_tools(sent)
    asks = envelope.to_asks(sent, service.settings)
    deadline = deadline_of(service, request.arrived, sent.latency_budget_ms)
    trace.top_k = asks[0].top_k
    questions = [(ask, trace.part(ask.pattern)) for ask in asks]
    source = await find(service, request, read, trace, deadline, questions)
    trace.add_parts([part for _, part in questions])
    showing, results = answers.Showing(service), []
    for ask, part in questions:
        chained = bool(sent.complete_chain)
        decision = await decide(service, part, source, ask, deadline, chained=chained)
        await asyncio.sleep(0)  # others have their turn between two patterns
        found = await showing.answer(part, decision, explained=bool(sent.explain))
        results.append(BatchResult(pattern=ask.pattern, **msgspec.structs.asdict(found)))
    trace.phases["rank"] = sum(part.phases.get("rank", 0.0) for _, part in questions)
    return answer_json(BatchAnswer(results), answers.common_headers(trace))


async def resolve(service: Service, request: Request, trace: Trace) -> Answer:
    """Find the tools that written names stand for.

    Raises:
        Refused, InvalidRequest, CatalogUnknown: the request is at fault.
    """
    read = await read_call(service, request, trace, _resolve)
    envelope.need_tools(read.request)
    names = read.request.names
    catalog = await find_compiled(service, request, read, trace)
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
