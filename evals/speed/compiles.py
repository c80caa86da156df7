"""What lists cost that nobody sent before: those who send them, and everybody else."""

import json
from collections.abc import Iterator
from statistics import median

from evals.speed import client, servers, traffic
from evals.speed.plan import BUSY, Plan, alone, beside, learn, pooled, row, settle
from evals.speed.report import Row

FLOOD_S = 5.0
FLOODERS = 32
"""How long a flood of new lists takes, and over how many connections."""

SLICE_S = 5.0
SLICES = 3
"""What is watched after it."""


def measure(plan: Plan, ours: servers.Running) -> Iterator[Row]:
    """Run every scenario."""
    yield from _first(plan)
    for size in (300, 1_000):
        yield from _beside(plan, ours, size)
    yield from _flood(plan, ours)


def _first(plan: Plan) -> Iterator[Row]:
    """Yield the first list of a process, and later ones with words that it has never read."""
    tools = traffic.load(plan.folder, 300)
    first, later = [], []
    for _ in range(plan.repeats):
        with servers.toolscout() as fresh:
            first.append(alone(fresh, [traffic.patient(json.dumps(tools))]))
            lists = [traffic.with_new_words(tools) for _ in range(4)]
            later += [alone(fresh, [traffic.patient(each)]) for each in lists]
    yield pooled("cold hybrid, 300, the first of a process", first)
    yield pooled("cold hybrid, 300, two new words in each tool", later)


def _beside(plan: Plan, ours: servers.Running, size: int) -> Iterator[Row]:
    """Warm answers at rest, and while lists are compiled: the processor time of serving them."""
    tools = json.dumps(traffic.load(plan.folder, 300))
    warm = traffic.inline(tools, traffic.PROSE)
    others = traffic.load(plan.folder, size)
    learn(ours, tools, 300)
    calls = plan.calls(300)
    idle, busy = [], []
    for _ in range(plan.repeats):
        settle(ours)
        idle.append(client.run(ours.port, warm, 1, calls, clock=ours.cpu_s))
        cold = [traffic.patient(traffic.unseen(others)) for _ in range(4_000 // size)]
        busy.append(beside(ours, warm, cold, len(cold), ours.cpu_s))
    ratio = median(b.quantile(0.99) / a.quantile(0.99) for a, b in zip(idle, busy, strict=True))
    yield row("CPU of a warm answer, 300 inline, nothing else", idle)
    note = f"p99 × {ratio:.2f}"
    yield row(f"CPU of a warm answer, while lists of {size:,} are compiled", busy, note)


def _flood(plan: Plan, ours: servers.Running) -> Iterator[Row]:
    """Known lists before and after a flood of new ones, and the flood itself."""
    tools = traffic.load(plan.folder, 300)
    known = traffic.inline(json.dumps(tools), traffic.PROSE)
    learn(ours, json.dumps(tools), 300)
    settle(ours)
    what = f"warm hybrid, 300 inline, {BUSY} connections"
    before = client.run(ours.port, known, BUSY, seconds=SLICE_S)
    yield row(f"{what}, before a flood", [before])
    flood = client.run(ours.port, traffic.ever_new(tools), FLOODERS, seconds=FLOOD_S)
    refused = 1 - flood.statuses.get(200, 0) / len(flood.latencies)
    yield row(
        f"flood of new lists of 300, {FLOODERS} connections", [flood], f"{refused:.0%} refused"
    )
    for number in range(SLICES):
        after = client.run(ours.port, known, BUSY, seconds=SLICE_S)
        since = f"{number * SLICE_S:.0f} to {(number + 1) * SLICE_S:.0f} s after it"
        yield row(f"{what}, {since}", [after], f"{after.rate / before.rate:.0%} of before")
