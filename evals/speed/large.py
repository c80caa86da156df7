"""Catalogs beyond ten thousand tools: what they take, and what they cost others."""

import asyncio
import json
from collections.abc import Iterator
from itertools import chain
from random import Random
from typing import Any

from evals.speed import client, servers, traffic
from evals.speed.client import Timings
from evals.speed.plan import Plan, in_turn, learn, row, settle
from evals.speed.report import Row

SIZES = (50_000, 100_000)
LIMITS = {"--max-tools": 200_000, "--max-body-bytes": 128 << 20, "--cache-bytes": 1 << 30}
FLAGS = tuple(chain.from_iterable((flag, str(most)) for flag, most in LIMITS.items()))
CALLS = 60
SEED = 7


def measure(plan: Plan) -> Iterator[Row]:
    """Yield searches of each size, and of 300 tools meanwhile."""
    real = traffic.load(plan.folder, traffic.SIZES[-1])
    small = json.dumps(traffic.load(plan.folder, 300))
    for size in SIZES:
        with servers.toolscout(*FLAGS) as ours:
            known = traffic.by_digest(learn(ours, small, 300), traffic.PROSE)
            before, _ = ours.memory_mib()
            payload = traffic.inline(json.dumps(combined(real, size)), ["warm up"])[0]
            digest = client.call(ours.port, payload)[1]["x-catalog-digest"]
            settle(ours)  # no request waits as long as compiling them takes
            large = traffic.by_digest(digest, traffic.PROSE, latency_budget_ms=1_000)
            after, peak = ours.memory_mib()
            note = f"{after - before:.0f} MiB more than without it, peak {peak:.0f}"
            yield row(f"by digest, {size:,}", in_turn(plan, [(ours, large)], 1, CALLS)[0], note)
            alone = in_turn(plan, [(ours, known)], 1, 20 * CALLS)[0]
            yield row("by digest, 300, nothing else", alone)
            beside = [asyncio.run(_beside(ours, known, large)) for _ in range(plan.repeats)]
            yield row(f"by digest, 300, while {size:,} are searched", beside)


def combined(tools: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Return tools made of real ones: names and texts of two, the schema of a third."""
    chance = Random(SEED)
    made: dict[str, dict[str, Any]] = {}
    while len(made) < count:
        one, other, third = chance.choice(tools), chance.choice(tools), chance.choice(tools)
        name = f"{one['name'][:40]}_{other['name'][:40]}"
        begin, end = one["description"], other["description"]
        made[name] = {
            "name": name,
            "description": f"{begin[: len(begin) // 2]} {end[len(end) // 2 :]}",
            "definition": third["definition"],
        }
    return list(made.values())


async def _beside(ours: servers.Running, known: list[bytes], large: list[bytes]) -> Timings:
    searching = asyncio.create_task(client.arun(ours.port, large, 1, CALLS))
    timings = Timings()
    while not searching.done():
        part = await client.arun(ours.port, known, 1, 10)
        timings.latencies += part.latencies
        timings.wall += part.wall
    await searching
    return timings
