"""Catalogs that PostgreSQL keeps tool by tool, beside the same tools held by one process."""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any

from evals.speed import client, servers, traffic
from evals.speed.client import Timings
from evals.speed.large import FLAGS, combined
from evals.speed.plan import Plan, row, timed
from evals.speed.report import Row
from toolscout.gateway.bulk import write_file

WARM, CALLS, COMPARED = 1_000, 200, 300
"""Questions before anything is measured, of each run, and whose first five tools are compared."""

CONNECTIONS = (1, 4)
MOST_HELD = 100_000
KEPT = {"in PostgreSQL": (), "the same, cache_bytes 1 GiB": ("--cache-bytes", str(1 << 30))}
"""The services, with their flags; more tools than `MOST_HELD` are not held by one."""


def measure(plan: Plan, database: str, sizes: Sequence[int]) -> Iterator[Row]:
    """Yield writing and searching of each size; what the database has already is kept there.

    The catalogs `bench-SIZE` stay in the database, for the release that wrote them.
    """
    os.environ["TOOLSCOUT_STORE"] = database  # it may have a password, which no flag takes
    real = traffic.load(plan.folder, traffic.SIZES[-1])
    for size in sizes:
        name, tools = f"bench-{size}", combined(real, size)
        with servers.toolscout() as ours:
            began = perf_counter()
            if _size(ours, name) != size:
                _write(ours, name, tools)
                yield Row(f"{size:,} tools written", note=f"{perf_counter() - began:.0f} s")
        with ExitStack() as stack:
            services = {
                what: stack.enter_context(servers.toolscout(*f)) for what, f in KEPT.items()
            }
            if size <= MOST_HELD:
                held = stack.enter_context(servers.toolscout("--store", "memory", *FLAGS))
                services = {"in one process": held, **services}
                yield _registered(held, name, tools)
            yield from _searched(plan, services, name, size)


def _searched(
    plan: Plan, services: dict[str, servers.Running], name: str, size: int
) -> Iterator[Row]:
    """Yield the same questions of all services in turn, none asked twice, and what they share."""
    anew = plan.never_asked(traffic.by_digest(name, [traffic.MARK], latency_budget_ms=10_000))
    warm = [anew[number] for number in range(WARM)]
    for ours in services.values():
        client.run(ours.port, warm, 1, WARM)
    for connections in CONNECTIONS:
        runs: dict[str, list[Timings]] = {what: [] for what in services}
        for _ in range(plan.repeats):
            asked = [anew[number] for number in range(CALLS)]
            for what, ours in services.items():
                runs[what].append(timed(ours, asked, connections, CALLS))
        for what, ours in services.items():
            note = "{:.0f} MiB, peak {:.0f}".format(*ours.memory_mib())
            note += f", with its worker {ours.proportional_mib():.0f}"
            yield row(f"{size:,} tools {what}, {connections} at once", runs[what], note)
    if size > MOST_HELD:
        return
    asked = [anew[number] for number in range(COMPARED)]
    told = [[client.call(ours.port, each)[2] for each in asked] for ours in services.values()]
    firsts = [[set(json.loads(body)["selected_names"]) for body in bodies] for bodies in told[:2]]
    shared = fmean(
        1.0 if a == b else len(a & b) / max(len(a), len(b)) for a, b in zip(*firsts, strict=True)
    )
    yield Row(f"{size:,} tools, of the first five in both", note=f"{shared:.0%}")


def _registered(held: servers.Running, name: str, tools: list[dict[str, Any]]) -> Row:
    put = client.request(f"/v1/catalogs/{name}", json.dumps({"tools": tools}).encode())
    began = perf_counter()
    status, _, body = client.call(held.port, put.replace(b"POST", b"PUT", 1))
    if status != 201:
        raise RuntimeError(body.decode())
    return Row(f"{len(tools):,} tools registered", note=f"{perf_counter() - began:.0f} s")


def _size(ours: servers.Running, name: str) -> int:
    head = f"GET /v1/catalogs/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    status, _, body = client.call(ours.port, head.encode())
    return json.loads(body)["tools"] if status == 200 else 0


def _write(ours: servers.Running, name: str, tools: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tools.jsonl"
        file.write_text("".join(f"{json.dumps(tool)}\n" for tool in tools))
        write_file(file, name, f"http://127.0.0.1:{ours.port}")
