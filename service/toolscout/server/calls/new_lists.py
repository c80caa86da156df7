"""Lists that nobody has sent before: compiled within the budget, or answered by their words.

The worker reads, compiles and scans them. Where it does none of it in time, because the machine is
busy or the worker is being replaced, a small list is scanned in this process.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter

from toolscout.errors import Overloaded, TooLargeToKeep
from toolscout.index.cold import ColdCatalog
from toolscout.index.source import Source
from toolscout.server.calls.envelope import R, Read
from toolscout.server.compiling.jobs import CompileJob, find_stage, get_finished, wait_for_best
from toolscout.server.compiling.scanning import Scanned, add_source, scan, scan_here
from toolscout.server.compiling.work_threads import DEADLINE_S, run_in_thread
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service
from toolscout.settings import MIB
from toolscout.tools.filters import tenant_of

READ_S = 3.0
"""Least seconds that the worker has to read a new list, and to scan it, and as many more for each
MiB: many times what it takes, also while the worker is replaced."""

SCANNED_HERE_BYTES = MIB
"""Size of a list up to which it is scanned here where the worker is late: some 15 ms."""

SOONEST = 0.5
"""Share of its expected time in which a compile may be done; if not, words answer at once."""


async def compile_or_scan(
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
        patience = max(left_ms / 1_000, _find_patience(raw))
        try:
            listing = await service.compiles.wait_for_stage(job.listing, min(patience, DEADLINE_S))
        except Overloaded as late:
            return await _scan_here(service, trace, parts, job, late)
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
            return await _answer_by_words(service, trace, parts, job)
    await asyncio.wait([stage], timeout=max(left, 0.0))
    has_words = get_finished(job.lexical) is not None
    if has_words and (catalog := await wait_for_best(job, stage, deadline)) is not None:
        return catalog  # nothing has to be scanned
    return await _answer_by_words(service, trace, parts, job)


def _find_patience(raw: bytes) -> float:
    """Return the seconds that the worker has for a list."""
    return min(READ_S * (1 + len(raw) / MIB), DEADLINE_S)


async def _answer_by_words(
    service: Service, trace: Trace, parts: Sequence[Trace], job: CompileJob
) -> Source:
    """Answer by the words in names and descriptions, in the worker process if it has time."""
    asks = [part.ask for part in parts]
    sent = job.sent
    seconds = _find_patience(sent.raw)
    try:
        scanned = await service.compiles.run(
            tenant_of(sent.space), scan, sent, asks, seconds=seconds
        )
    except Overloaded as late:
        compiled = get_finished(job.complete) or get_finished(job.lexical)
        return compiled or await _scan_here(service, trace, parts, job, late)
    return _take_decisions(service, parts, job, scanned)


async def _scan_here(
    service: Service, trace: Trace, parts: Sequence[Trace], job: CompileJob, late: Overloaded
) -> ColdCatalog:
    """Answer by words in a thread of this process, where the worker is late.

    Raises:
        Overloaded: `late`, for a list that is large, or that may be why a worker has ended.
    """
    sent = job.sent
    if len(sent.raw) > SCANNED_HERE_BYTES or service.compiles.has_lost_worker(job):
        raise late
    asks = [part.ask for part in parts]
    most = service.settings.max_tools
    tools, scanned = await run_in_thread(scan_here, service.engine, sent, most, asks)
    trace.offered = tools.offered
    trace.skipped = tools.skipped
    return _take_decisions(service, parts, job, scanned)


def _take_decisions(
    service: Service, parts: Sequence[Trace], job: CompileJob, scanned: Scanned
) -> ColdCatalog:
    """Give each question its decision."""
    refused = job.complete.exception() if job.complete.done() else None
    note = refused.detail if isinstance(refused, TooLargeToKeep) else None
    catalog = scanned.catalog(service.engine.compiler, tenant_of(job.sent.space))
    for trace, decision, spent in zip(parts, scanned.decisions, scanned.seconds, strict=True):
        trace.decision = add_source(decision, catalog, note)
        trace.phases["rank"] = spent
        service.costs.learn("scan", spent * 1_000 / max(len(catalog), 1))
    return catalog
