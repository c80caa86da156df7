"""A flood: the service sheds what it cannot answer in time and is itself again afterwards.

The figures that are printed stand beside those of the floor, a bare application on the same server
that only decodes and hashes, under the same flood.
"""

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from evals.speed import client, servers, traffic
from loadtests import catalogs
from tests.support import crowd, ran

pytestmark = [pytest.mark.integration, pytest.mark.alone]

ROOT = Path(__file__).parents[2]
CONNECTIONS = 128
CALLS = 4_000


def payloads() -> list[bytes]:
    return traffic.inline(json.dumps(crowd(300)), traffic.PROSE)


def figures(name: str, flooded: client.Timings) -> None:
    statuses = ", ".join(f"{n} × {status}" for status, n in sorted(flooded.statuses.items()))
    p50, p99 = flooded.quantile(0.5), flooded.quantile(0.99)
    print(f"\n{name}: p50 {p50:.0f} ms, p99 {p99:.0f} ms, {flooded.rate:.0f}/s; {statuses}")


def answered_or_shed(flooded: client.Timings, calls: int) -> None:
    assert set(flooded.statuses) <= {200, 503}
    assert flooded.statuses[200] > 0
    assert sum(flooded.statuses.values()) == calls


def flooded_beside_the_floor(what: str, flood: list[bytes], calls: int) -> None:
    known = traffic.inline(catalogs.tools(300), traffic.PROSE)
    with servers.floor() as floor, servers.toolscout() as server:
        client.run(server.port, known[:1], 1, 1)
        bare = client.run(floor.port, flood, CONNECTIONS, calls)
        flooded = client.run(server.port, flood, CONNECTIONS, calls)
        calm = client.run(server.port, known, 1, 50)
    figures(f"the floor under 128 connections of {what}", bare)
    figures("Toolscout under the same flood", flooded)
    figures("one caller with known tools right afterwards", calm)
    answered_or_shed(flooded, calls)
    assert calm.statuses == {200: 50}


def test_a_flood_is_answered_or_shed():
    flood = traffic.inline(catalogs.tools(300), traffic.PROSE)
    flooded_beside_the_floor("300 tools", flood, CALLS)


def test_a_flood_of_unknown_tools_is_answered_or_shed():
    flood = [traffic.inline(catalogs.unseen(300), [p])[0] for p in traffic.PROSE * 4]
    flooded_beside_the_floor("300 tools, each list new", flood, len(flood))


def test_probes_answer_during_a_flood():
    async def flood(port: int) -> Counter[int]:
        flooding = asyncio.create_task(client.arun(port, payloads(), CONNECTIONS, CALLS))
        seen: Counter[int] = Counter()
        while not flooding.done():
            status, _, _ = await asyncio.to_thread(
                client.call,
                port,
                b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            )
            seen[status] += 1
        await flooding
        return seen

    with servers.toolscout() as server:
        seen = asyncio.run(flood(server.port))
    assert set(seen) == {200}


@pytest.mark.nightly
def test_the_benchmark_runs(tmp_path: Path):
    folder = tmp_path / "catalogs"
    folder.mkdir()
    for size in traffic.SIZES[:4]:
        (folder / f"{size}.json").write_text(json.dumps(crowd(size)), "utf-8")
    flags = ("--data", tmp_path, "--quick", "--json", tmp_path / "out")
    ran([sys.executable, "-m", "evals.speed", *flags], cwd=ROOT)
    rows = json.loads((tmp_path / "out").read_text("utf-8"))
    assert any(row["what"].startswith("warm hybrid, 300") for row in rows)
