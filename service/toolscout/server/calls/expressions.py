"""Match a caller's pattern within the time of its request.

The maximum cost of a pattern is known when it is compiled (instructions times bytes). Small texts
are matched on the event loop, larger ones in a thread, where RE2 holds no lock, until the deadline.
A pattern that was given up is remembered with its speed, so that the next request does not try it
again, and the cost of ordinary patterns is estimated per tenant, so that no tenant's patterns raise
the estimate of another's.
"""

import asyncio
from hashlib import sha256
from time import perf_counter

from toolscout.index.catalog import Catalog
from toolscout.index.lines import INLINE_WORK, INVALID, TOO_COSTLY, Scan, compile_or_explain
from toolscout.index.lines import scan as scan_lines
from toolscout.server.compiling.work_threads import SCANS
from toolscout.server.service import Service

MAX_SCAN_S = 0.5
"""Maximum seconds of one scan, whatever the latency budget."""

INLINE_MS = 5.0
"""Maximum expected milliseconds of a scan on the event loop, and its time limit there. Most
patterns are a hundred times faster than they could be at worst, and in a thread each match waits
for the interpreter lock: 0.4 ms more for a pattern with 140 matches.
"""

FORGIVENESS = 0.8
"""Factor on a remembered cost each time it prevented a scan, so that the pattern is tried again."""

_MIB = 1 << 20


async def scan(
    service: Service, tenant: str, catalog: Catalog, pattern: str, deadline: float
) -> Scan:
    """Match a regular expression, or give the reason why not.

    `deadline` is a time of `perf_counter`.
    """
    matches = await _scan(service, tenant, catalog, pattern, deadline)
    service.metrics.patterns.labels(_make_result(matches)).inc()
    return matches


def _make_result(matches: Scan) -> str:
    if matches.rows:
        return "match"
    if matches.note == INVALID:
        return "invalid"
    return "too_costly" if matches.too_costly else "no_match"


async def _scan(
    service: Service, tenant: str, catalog: Catalog, pattern: str, deadline: float
) -> Scan:
    lines = catalog.lines
    costs = service.costs
    until = min(deadline, perf_counter() + MAX_SCAN_S)
    left_ms = (until - perf_counter()) * 1_000
    # Per tenant, so that the time of an answer does not reveal the patterns of others.
    key = (tenant, sha256(pattern.encode("utf-8", "replace")).digest())
    remembered = service.slow_patterns.get(key)
    if remembered is not None and remembered * lines.size > left_ms:
        service.slow_patterns.put(key, remembered * FORGIVENESS, 1)
        return Scan(None, TOO_COSTLY)
    expression = compile_or_explain(pattern)
    if isinstance(expression, Scan):
        return expression
    name = f"pattern:{tenant}"
    mib = lines.size / _MIB

    def learn(matches: Scan) -> None:
        if matches.nbytes:
            spent_ms = matches.seconds * 1_000 / matches.nbytes
            costs.learn(name, spent_ms * _MIB)
            if matches.too_costly:
                service.slow_patterns.put(key, spent_ms)

    is_small = lines.estimate_work(expression) <= INLINE_WORK
    if is_small or costs.estimate(name, mib) <= INLINE_MS:
        soon = until if is_small else min(until, perf_counter() + INLINE_MS / 1_000)
        matches = scan_lines(pattern, lines, soon, expression)
        learn(matches)
        if is_small or not matches.too_costly:
            return matches
    scanning = asyncio.wrap_future(
        SCANS.submit(tenant, scan_lines, pattern, lines, until, expression)
    )
    scanning.add_done_callback(lambda done: None if done.cancelled() else learn(done.result()))
    await asyncio.wait([scanning], timeout=until - perf_counter())
    if scanning.done():
        return scanning.result()
    # Still queued, or in its last slice: do not wait for it.
    scanning.cancel()
    return Scan(None, TOO_COSTLY)
