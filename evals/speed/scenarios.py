"""What is measured, row by row."""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import quote

from evals.speed import client, servers, traffic
from evals.speed.client import Timings
from evals.speed.peers import PEERS, median_ms
from evals.speed.report import Row

BUSY = 16
"""Connections of the throughput rows."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure."""

    folder: Path
    repeats: int
    quick: bool

    @property
    def sizes(self) -> tuple[int, ...]:
        """Catalog sizes."""
        return traffic.SIZES[:3] if self.quick else traffic.SIZES

    def calls(self, size: int) -> int:
        """Calls per repeat, fewer for larger bodies."""
        return max(20, (30_000 if self.quick else 120_000) // max(size, 60))


def measure(plan: Plan) -> list[Row]:
    """Run every scenario."""
    rows: list[Row] = []
    with servers.floor() as floor, servers.toolscout() as ours:
        rows.append(_started(ours))
        scenarios = (_warm, _busy, _digest, _rankers, _agents, _classes, _cold, _during_compiles)
        for scenario in scenarios:
            for row in scenario(plan, floor, ours):
                _say(row)
                rows.append(row)
        resident, peak = ours.memory_mib()
        rows.append(Row("memory after all this", note=f"{resident:.0f} MiB, peak {peak:.0f} MiB"))
    for row in _peers(plan):
        _say(row)
        rows.append(row)
    return rows


def _started(ours: servers.Running) -> Row:
    resident, _ = ours.memory_mib()
    return Row(
        "start to ready", note=f"{ours.ready_s:.2f} s, {resident:.0f} MiB resident with the model"
    )


def _warm(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Inline tools, known catalog: the floor and ours in turn."""
    for size in plan.sizes:
        tools = json.dumps(traffic.load(plan.folder, size))
        payloads = traffic.inline(tools, traffic.PROSE)
        _learn(ours, tools, size)
        low, high = _paired(plan, floor, ours, payloads, 1, plan.calls(size))
        yield _row(f"floor, {size:,} inline", low)
        added = median(h.quantile(0.5) - f.quantile(0.5) for h, f in zip(high, low, strict=True))
        yield _row(f"warm hybrid, {size:,} inline", high, f"floor + {added:.2f} ms")


def _busy(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Throughput with inline tools."""
    tools = json.dumps(traffic.load(plan.folder, 300))
    payloads = traffic.inline(tools, traffic.PROSE)
    low, high = _paired(plan, floor, ours, payloads, BUSY, 4 * plan.calls(300))
    share = median(h.rate / f.rate for h, f in zip(high, low, strict=True))
    yield _row(f"floor, 300 inline, {BUSY} connections", low)
    yield _row(f"warm hybrid, 300 inline, {BUSY} connections", high, f"{share:.0%} of the floor")


def _digest(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """A known catalog by its digest."""
    for size in plan.sizes:
        tools = json.dumps(traffic.load(plan.folder, size))
        payloads = traffic.by_digest(_learn(ours, tools, size), traffic.PROSE)
        runs = [client.run(ours.port, payloads, 1, 1_000) for _ in range(plan.repeats)]
        yield _row(f"by digest, {size:,}", runs)
        runs = [client.run(ours.port, payloads, BUSY, 4_000) for _ in range(plan.repeats)]
        yield _row(f"by digest, {size:,}, {BUSY} connections", runs)


def _rankers(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Every ranker on 300 tools, warm, by digest."""
    digest = _learn(ours, json.dumps(traffic.load(plan.folder, 300)), 300)
    for ranker in ("bm25", "semantic", "hybrid", "rrf", "regex"):
        patterns = traffic.REGEX if ranker == "regex" else traffic.PROSE
        payloads = traffic.by_digest(digest, patterns, ranker=ranker)
        runs = [client.run(ours.port, payloads, 1, 1_000) for _ in range(plan.repeats)]
        yield _row(f"{ranker}, 300 by digest", runs)


def _agents(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """What agents ask beside searches: their tools for a turn, and single tools."""
    tools = traffic.load(plan.folder, 300)
    digest = _learn(ours, json.dumps(tools), 300)
    names = [tool["name"] for tool in tools]
    turns = [{"message": p, "catalog": digest, "tier0": names[:3]} for p in traffic.PROSE]
    kinds = {"hot tools": [client.request(traffic.HOT, json.dumps(t).encode()) for t in turns]}
    for detail in ("brief", "full"):
        paths = [f"/v1/catalogs/{digest}/tools/{quote(n, safe='')}?detail={detail}" for n in names]
        kinds[f"one tool in {detail}"] = [
            f"GET {p} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for p in paths
        ]
    for kind, payloads in kinds.items():
        runs = [client.run(ours.port, payloads, 1, 400) for _ in range(plan.repeats)]
        yield _row(f"{kind}, 300 by digest", runs)


def _classes(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Every class of query on the largest catalog, by digest."""
    size = plan.sizes[-1]
    tools = traffic.load(plan.folder, size)
    digest = _learn(ours, json.dumps(tools), size)
    names = [tool["name"] for tool in tools[:: max(1, size // 200)]]
    kinds = {
        "name": names,
        "prose": traffic.PROSE,
        "typo": traffic.TYPOS,
        "no match": traffic.NONSENSE,
        "regex": traffic.REGEX,
    }
    for kind, patterns in kinds.items():
        payloads = traffic.by_digest(digest, patterns)
        runs = [client.run(ours.port, payloads, 1, 200) for _ in range(plan.repeats)]
        yield _row(f"{kind} query, {size:,} by digest", runs)


def _cold(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Tools never seen before, every one of them or one of 300."""
    pattern = traffic.PROSE[:1]
    for size in plan.sizes:
        tools = traffic.load(plan.folder, size)
        fields = {"latency_budget_ms": 60_000} if size <= 1_000 else {}
        lists = [traffic.unseen(tools) for _ in range(plan.repeats * (8 if size <= 300 else 1))]
        runs = [_alone(ours, traffic.inline(t, pattern, **fields)) for t in lists]
        note = "" if fields else f"within its budget: {_degraded(ours, tools)}"
        yield _pooled(f"cold hybrid, {size:,}", runs, note)
    tools = traffic.load(plan.folder, 300)
    known = json.dumps(tools)
    _learn(ours, known, 300)
    # A call after a rest is slower than one of many, known tools or not.
    warm = [_alone(ours, traffic.inline(known, [p])) for p in traffic.PROSE[: plan.repeats * 8]]
    lists = [traffic.unseen(tools, changed=1) for _ in range(plan.repeats * 8)]
    runs = [_alone(ours, traffic.inline(t, pattern)) for t in lists]
    yield _pooled("no changed tool of 300, one call after a rest", warm)
    more = _pool(runs).quantile(0.5) - _pool(warm).quantile(0.5)
    yield _pooled("one changed tool of 300", runs, f"+ {more:.1f} ms")


def _alone(ours: servers.Running, payloads: Sequence[bytes]) -> Timings:
    """One call while nothing else goes on."""
    _settle(ours)
    return client.run(ours.port, payloads, 1, 1)


def _degraded(ours: servers.Running, tools: list[dict[str, object]]) -> str:
    payload = traffic.inline(traffic.unseen(tools), traffic.PROSE[:1])[0]
    return client.call(ours.port, payload)[1]["x-tool-selection"].rpartition("; ")[2]


def _during_compiles(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Warm latency at rest, and while catalogs of 1,000 new tools are compiled."""
    tools = json.dumps(traffic.load(plan.folder, 300))
    warm = traffic.inline(tools, traffic.PROSE)
    others = traffic.load(plan.folder, 1_000)
    _learn(ours, tools, 300)
    calls = plan.calls(300) * 2
    _settle(ours)
    idle, loaded = [], []
    for _ in range(plan.repeats):
        _settle(ours)
        idle.append(client.run(ours.port, warm, 1, calls))
        cold = [traffic.inline(traffic.unseen(others), traffic.PROSE[:1])[0] for _ in range(3)]
        loaded.append(asyncio.run(_beside(ours.port, warm, calls, cold)))
    ratio = median(b.quantile(0.99) / a.quantile(0.99) for a, b in zip(idle, loaded, strict=True))
    yield _row("warm hybrid, 300 inline, nothing else", idle)
    yield _row("warm hybrid, 300 inline, during compiles", loaded, f"p99 × {ratio:.1f}")


async def _beside(port: int, warm: Sequence[bytes], calls: int, cold: Sequence[bytes]) -> Timings:
    compiling = asyncio.create_task(client.arun(port, cold, 1, len(cold)))
    timings = Timings()
    while not compiling.done():
        part = await client.arun(port, warm, 1, max(10, calls // 20))
        timings.latencies += part.latencies
        timings.wall += part.wall
    await compiling
    return timings


def _peers(plan: Plan) -> Iterator[Row]:
    """Others in process, without HTTP."""
    for size in plan.sizes:
        tools = traffic.load(plan.folder, size)
        for name, build in PEERS.items():
            try:
                search = build(tools)
            except ImportError as error:
                yield Row(f"{name}, {size:,}", note=f"skipped: {error.name} is not installed")
                continue
            patterns = traffic.PROSE[: 5 if size > 1_000 else 20]
            yield Row(f"{name}, {size:,}", p50=median_ms(search, patterns), note="in process")


def _learn(ours: servers.Running, tools: str, size: int) -> str:
    """Make sure a catalog is known; returns its digest."""
    payload = traffic.inline(tools, ["warm up"], latency_budget_ms=60_000)[0]
    digest = client.call(ours.port, payload)[1]["x-catalog-digest"]
    client.run(ours.port, traffic.inline(tools, traffic.PROSE[:20]), 1, 20 if size < 3_000 else 3)
    return digest


def _paired(
    plan: Plan,
    floor: servers.Running,
    ours: servers.Running,
    payloads: Sequence[bytes],
    connections: int,
    calls: int,
) -> tuple[list[Timings], list[Timings]]:
    low, high = [], []
    for _ in range(plan.repeats):
        low.append(client.run(floor.port, payloads, connections, calls))
        high.append(client.run(ours.port, payloads, connections, calls))
    return low, high


def _row(what: str, runs: Sequence[Timings], note: str = "") -> Row:
    """Medians over repeats."""

    def over(pick: Callable[[Timings], float]) -> float:
        return median(pick(run) for run in runs)

    return Row(
        what,
        over(lambda run: run.quantile(0.5)),
        over(lambda run: run.quantile(0.95)),
        over(lambda run: run.quantile(0.99)),
        over(lambda run: run.rate),
        note,
    )


def _settle(ours: servers.Running) -> None:
    """Wait until nothing is compiled any more, so that no row pays for another."""
    ask = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    while b"toolscout_compiles_in_progress 0.0" not in client.call(ours.port, ask)[2]:
        time.sleep(0.05)


def _pooled(what: str, runs: Sequence[Timings], note: str = "") -> Row:
    """Quantiles over all calls of runs of one call each."""
    pool = _pool(runs)
    return Row(what, pool.quantile(0.5), pool.quantile(0.95), None, None, note)


def _pool(runs: Sequence[Timings]) -> Timings:
    return Timings([latency for run in runs for latency in run.latencies])


def _say(row: Row) -> None:
    sys.stderr.write(f"{row.what}: p50 {row.p50 or 0:.2f} ms {row.note}\n")
