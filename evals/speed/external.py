"""Catalogs that PostgreSQL keeps tool by tool: what a search takes, and what a process holds."""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from evals.speed import client, servers, traffic
from evals.speed.large import combined
from evals.speed.plan import Plan, row
from evals.speed.report import Row
from toolscout.gateway.bulk import write_file

CALLS = 200
BUSY = 4
"""Connections of the throughput row."""

PATIENCE_MS = 10_000
FILTER = {"max_risk": "read_only"}


def measure(plan: Plan, database: str, sizes: Sequence[int]) -> Iterator[Row]:
    """Yield writing and searching of each size; what the database has already is kept there.

    The catalogs `bench-SIZE` stay in the database.
    """
    os.environ["TOOLSCOUT_STORE"] = database  # it may have a password, which no flag takes
    real = traffic.load(plan.folder, traffic.SIZES[-1])
    for size in sizes:
        name = f"bench-{size}"
        with servers.toolscout() as ours:
            began = perf_counter()
            if _size(ours, name) != size:
                _write(ours, name, combined(real, size))
                yield Row(f"{size:,} tools written", note=f"{perf_counter() - began:.0f} s")
        yield from _searched(plan, name, size)


def _searched(plan: Plan, name: str, size: int) -> Iterator[Row]:
    """Yield searches of a process that has not written the tools."""
    anew = plan.never_asked(_searches(name, [traffic.MARK]))
    filtered = plan.never_asked(_searches(name, [traffic.MARK], filters=FILTER))
    with servers.toolscout() as ours:
        client.run(ours.port, anew, 1, 20)
        before, _ = ours.memory_mib()
        runs = [client.run(ours.port, anew, 1, CALLS) for _ in range(plan.repeats)]
        after, peak = ours.memory_mib()
        note = f"{before:.0f} MiB, later {after:.0f}, peak {peak:.0f}"
        yield row(f"{size:,} in PostgreSQL, a new question", runs, note)
        runs = [client.run(ours.port, filtered, 1, CALLS) for _ in range(plan.repeats)]
        yield row(f"{size:,} in PostgreSQL, with a filter", runs)
        runs = [client.run(ours.port, anew, BUSY, CALLS) for _ in range(plan.repeats)]
        yield row(f"{size:,} in PostgreSQL, {BUSY} connections", runs)


def _searches(name: str, patterns: Sequence[str], **fields: Any) -> list[bytes]:
    return traffic.by_digest(name, patterns, latency_budget_ms=PATIENCE_MS, **fields)


def _size(ours: servers.Running, name: str) -> int:
    head = f"GET /v1/catalogs/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    status, _, body = client.call(ours.port, head.encode())
    return json.loads(body)["tools"] if status == 200 else 0


def _write(ours: servers.Running, name: str, tools: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tools.jsonl"
        file.write_text("".join(f"{json.dumps(tool)}\n" for tool in tools))
        write_file(file, name, f"http://127.0.0.1:{ours.port}")
