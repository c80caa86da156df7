"""Many lists: how many a process keeps, how fast a dropped one comes back, and a tool's memory."""

import json
import tempfile
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from evals.speed import client, servers, traffic
from evals.speed.plan import Plan, row, settle
from evals.speed.report import Row

LISTS, TOOLS = 1_000, 300
MIB = 1 << 20
CACHE_BYTES, STORE_BYTES = 256 << 20, 8 << 30
AGAIN = 40
"""Lists that are sent a second time: the first ones, which were dropped."""


SHAPES = ((100, 100), (34, 300), (10, 1_000), (1, 10_000), (1, 100_000))
"""How many lists of how many tools have their memory measured, in a fresh process each."""

ROOM = ("--max-tools", "200000", "--max-body-bytes", str(1 << 29), "--cache-bytes", str(1 << 32))


def measure(plan: Plan) -> Iterator[Row]:
    """Yield lists sent once and again, and what a tool takes in lists of each size."""
    yield from _again(plan)
    for lists, size in SHAPES[: 2 if plan.quick else None]:
        yield _memory(plan, lists, size)


def _memory(plan: Plan, lists: int, size: int) -> Row:
    tools = cycle(traffic.load(plan.folder, 10_000))
    some = [
        [
            {**tool, "name": f"{tool['name']}_{number}_{n}"}
            for n, tool in enumerate(islice(tools, size))
        ]
        for number in range(lists)
    ]
    with servers.toolscout(*ROOM) as ours:
        _send(ours, traffic.load(plan.folder, TOOLS))
        settle(ours)
        before = ours.memory_mib()[0], ours.proportional_mib()
        for each in some:
            _send(ours, each)
        settle(ours)
        after = ours.memory_mib()[0], ours.proportional_mib()
        counted = servers.metric(ours, "toolscout_catalog_cache_bytes") / (lists * size + TOOLS)
    own, all_of_it = ((b - a) * MIB / (lists * size) for a, b in zip(before, after, strict=True))
    kilobytes = [f"{bytes_ / 1_000:.1f}" for bytes_ in (counted, own, all_of_it)]
    note = "KB a tool: {} in the cache, {} in the process, {} with its worker".format(*kilobytes)
    return Row(f"{lists} × {size:,} tools", note=note)


def _send(ours: servers.Running, tools: list[dict]) -> None:
    payloads = traffic.inline(json.dumps(tools), traffic.PROSE[:1], latency_budget_ms=60_000)
    client.run(ours.port, payloads, 1, 1)


def _again(plan: Plan) -> Iterator[Row]:
    tools = traffic.load(plan.folder, TOOLS)
    count = LISTS // 10 if plan.quick else LISTS
    lists = [
        [{**tool, "name": f"{tool['name']}_{number}"} for tool in tools] for number in range(count)
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:{Path(folder) / 'state.db'}"
        flags = ["--store", store, "--store-bytes", str(STORE_BYTES)]
        with servers.toolscout(*flags, "--cache-bytes", str(CACHE_BYTES)) as ours:
            yield from _sent(ours, lists)


def _sent(ours: servers.Running, lists: list[list[dict]]) -> Iterator[Row]:
    payloads = [
        traffic.inline(json.dumps(each), traffic.PROSE[:1], latency_budget_ms=60_000)[0]
        for each in lists
    ]
    once = client.run(ours.port, payloads, 1, len(payloads))
    settle(ours)
    resident, _ = ours.memory_mib()
    note = f"{servers.metric(ours, 'toolscout_catalog_cache_entries'):.0f} kept, {resident:.0f} MiB"
    yield row(f"{len(lists):,} lists of {TOOLS}", [once], note)
    yield row("dropped ones again", [client.run(ours.port, payloads, 1, AGAIN)])
