"""Many lists: how many a process keeps, and how fast one that was dropped comes back."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from evals.speed import client, servers, traffic
from evals.speed.plan import Plan, row, settle
from evals.speed.report import Row

LISTS, TOOLS = 1_000, 300
CACHE_BYTES, STORE_BYTES = 256 << 20, 8 << 30
AGAIN = 40
"""Lists that are sent a second time: the first ones, which were dropped."""


def measure(plan: Plan) -> Iterator[Row]:
    """Yield lists sent once and again."""
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
