"""The other calls about a tool list: several patterns, names, and the relevance filter.

Each takes `tools` or their digest, and has the same admission, keys, limits and errors as a search.
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from hashlib import sha256
from time import perf_counter

import msgspec

from toolscout.contract.answers import BatchAnswer, BatchResult, FilterAnswer, ResolveAnswer
from toolscout.contract.fields import ABSENT, is_absent
from toolscout.contract.requests import BatchRequest, FilterRequest, ResolveRequest
from toolscout.contract.tools import Tool
from toolscout.external.catalogs import NeedsAllTools
from toolscout.ranking.resolve import Resolver
from toolscout.server.calls import answers, envelope, search
from toolscout.server.calls.decoding import decode_checked
from toolscout.server.calls.envelope import Read
from toolscout.server.calls.lookup import resolve_shared
from toolscout.server.compiling.work_threads import Deadline, run_inline_or_in_thread
from toolscout.server.compiling.worker import CompiledList, SentList, Worker, read_list
from toolscout.server.http.answer import RawAnswer, answer_json
from toolscout.server.http.request import LimitedRequest
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service
from toolscout.text.relevance import Candidate, keep_relevant
from toolscout.tools.documents import description_of
from toolscout.tools.filters import tenant_of
from toolscout.tools.overlay import TenantOverlay

Split = Callable[[Iterable[Tool], TenantOverlay], FilterAnswer]
"""Splits tools as a tenant's rows of the overlay have them."""

SPLIT_AT_ONCE = 500
"""Tools or names times tools that are compared on the event loop; more go into a thread."""


async def search_batch(service: Service, request: LimitedRequest, trace: Trace) -> RawAnswer:
    """Select tools for several queries.

    One result per pattern, in order; the latency budget is for all of them.
    """
    read = await search.read_call(service, request, trace, BatchRequest)
    sent = read.request
    asks = [read.make_answerable(ask) for ask in envelope.make_asks(sent, service.settings)]
    budget_ms = sent.latency_budget_ms
    deadline = search.set_deadline(service, request.arrived, budget_ms, cold=read.is_cold)
    trace.top_k = asks[0].top_k
    parts = list(map(trace.part, asks))
    source = await search.find(service, read, trace, deadline, parts)
    trace.add_parts(parts)
    showing = answers.Showing()
    results = []
    for asked, part in zip(sent.patterns, parts, strict=True):
        chained = bool(sent.complete_chain)
        decision = await search.decide(
            service, part, source, deadline, chained=chained, waits=len(parts) == 1
        )
        turn = None if isinstance(asked, str) else asked.turn
        await search.remember(service, part, turn, decision)
        await asyncio.sleep(0)  # other requests get their turn between two patterns
        answer = await showing.answer(part, decision, explained=bool(sent.explain))
        results.append(BatchResult(pattern=part.ask.pattern, **msgspec.structs.asdict(answer)))
    trace.phases["rank"] = sum(part.phases.get("rank", 0.0) for part in parts)
    return answer_json(BatchAnswer(results), answers.write_common_headers(trace))


async def resolve(service: Service, request: LimitedRequest, trace: Trace) -> RawAnswer:
    """Find tools by written names.

    Each name to the letter or in another spelling, else what it may have meant.
    """
    read = await search.read_call(service, request, trace, ResolveRequest)
    envelope.require_tools(read.request)
    names = read.request.names
    catalog = await search.find_compiled(service, read, trace, names=names)
    began = perf_counter()
    resolver = Resolver(catalog, Deadline())
    size = len(names) * len(catalog)
    results = await run_inline_or_in_thread(
        size, SPLIT_AT_ONCE, lambda: list(map(resolver.resolve, names))
    )
    trace.phases["rank"] = perf_counter() - began
    return answer_json(ResolveAnswer(results), answers.write_common_headers(trace))


async def filter_tools(service: Service, request: LimitedRequest, trace: Trace) -> RawAnswer:
    """Split tools by relevance.

    Names to keep in front of a model and names to defer, by shared words alone. Equals keep the
    order of `tools`; by digest, that of their names.
    """
    # Without the fast path for known tools, because a catalog does not keep their order.
    sent = decode_checked(await request.json_body(service.settings), FilterRequest)
    envelope.require_tools(sent)
    read = await resolve_shared(service, trace.space, Read(sent, None, b""))
    if read.external is not None:
        raise NeedsAllTools("a filter by shared words", read.external)
    raw = read.request.tools
    split = partial(_split, msgspec.structs.replace(read.request, tools=ABSENT))
    trace.phases["decode"] = perf_counter() - request.arrived
    if is_absent(raw):
        catalog = await search.find_compiled(service, read, trace)
        began = perf_counter()
        overlay = service.engine.compiler.overlay.of(trace.tenant)
        answer = await run_inline_or_in_thread(
            trace.unique,
            SPLIT_AT_ONCE,
            lambda: split(map(catalog.tool, range(len(catalog))), overlay),
        )
        trace.phases["rank"] = perf_counter() - began
    else:
        array = bytes(raw)
        posted = SentList(trace.space, sha256(array).digest(), array)
        answer, listing, trace.phases["rank"] = await service.compiles.run(
            trace.tenant, _split_sent, posted, split
        )
        trace.catalog = listing.digest
        trace.unique = listing.unique
        trace.offered = listing.offered
        trace.cache = "hit"
        if service.cache.find_by_digest(trace.space, listing.digest) is None:
            trace.cache = "miss"
            service.compiles.start(trace.space, posted.raw_hash, array)  # for calls by digest
    return answer_json(answer, answers.write_common_headers(trace))


def _split_sent(
    worker: Worker, sent: SentList, split: Split
) -> tuple[FilterAnswer, CompiledList, float]:
    """Split a list in its order, each name once; also return the seconds it took."""
    began = perf_counter()
    tools = worker.read(sent)
    order = sorted(range(len(tools.tools)), key=tools.places.__getitem__)
    overlay = worker.engine.compiler.overlay.of(tenant_of(sent.space))
    answer = split((tools.tools[row] for row in order), overlay)
    return answer, read_list(worker, sent), perf_counter() - began


def _split(request: FilterRequest, tools: Iterable[Tool], overlay: TenantOverlay) -> FilterAnswer:
    candidates = []
    pinned = []
    for tool in tools:
        row = overlay.find_row(tool.name)
        if tool.status == "unavailable" or row.hide:
            continue
        candidates.append(Candidate(tool.name, f"{row.search_text} {description_of(tool)}"))
        if row.pin:
            pinned.append(tool.name)
    limits = {name: getattr(request, name) for name in ("min_tools", "max_tools", "target_ratio")}
    kept, deferred = keep_relevant(
        candidates,
        request.query,
        **{name: limit for name, limit in limits.items() if limit is not None},
        always_keep=(*(request.always_keep or ()), *pinned),
        recent=request.recent or (),
        expanded=request.expanded or (),
        pause=Deadline(),
    )
    return FilterAnswer(kept, deferred)
