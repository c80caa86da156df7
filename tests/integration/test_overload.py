"""A flood: the service sheds what it cannot answer in time and is itself again afterwards."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from evals.speed import client, servers, traffic
from tests.support import crowd

pytestmark = pytest.mark.integration

CONNECTIONS = 128
CALLS = 4_000


def payloads() -> list[bytes]:
    return traffic.inline(json.dumps(crowd(300)), traffic.PROSE)


def test_a_flood_is_answered_or_shed():
    with servers.toolscout("--max-in-flight", "64") as server:
        client.run(server.port, payloads()[:1], 1, 1)
        flooded = client.run(server.port, payloads(), CONNECTIONS, CALLS)
        assert set(flooded.statuses) <= {200, 503}
        assert flooded.statuses[200] > 0
        assert sum(flooded.statuses.values()) == CALLS
        calm = client.run(server.port, payloads(), 1, 50)
        assert calm.statuses == {200: 50}


def test_probes_answer_during_a_flood():
    async def flood(port: int) -> Counter[int]:
        flooding = asyncio.create_task(client.arun(port, payloads(), CONNECTIONS, CALLS))
        seen: Counter[int] = Counter()
        while not flooding.done():
            status, _, _ = await asyncio.to_thread(
                client.call,
                port,
                b"GET /readyz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n",
            )
            seen[status] += 1
        await flooding
        return seen

    with servers.toolscout() as server:
        seen = asyncio.run(flood(server.port))
    assert set(seen) == {200}


def test_memory_stays_flat_over_many_catalogues():
    def distinct(number: int) -> bytes:
        tools = [{**tool, "description": f"{number} {tool['description']}"} for tool in crowd(40)]
        return traffic.inline(json.dumps(tools), traffic.PROSE[:1])[0]

    with servers.toolscout("--cache-bytes", str(24 * 2**20)) as server:
        for number in range(1_000):
            client.run(server.port, [distinct(number)], 1, 1)
        full, _ = server.memory_mib()
        for number in range(1_000, 3_000):
            client.run(server.port, [distinct(number)], 1, 1)
        later, _ = server.memory_mib()
    assert later < full + 40, f"{full:.0f} MiB, then {later:.0f} MiB"


def test_the_benchmark_runs(tmp_path: Path):
    folder = tmp_path / "catalogs"
    folder.mkdir()
    for size in traffic.SIZES[:3]:
        (folder / f"{size}.json").write_text(json.dumps(crowd(size)), "utf-8")
    done = servers.benchmark("--data", str(tmp_path), "--quick", "--json", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "out").read_text("utf-8"))
    assert any(row["what"].startswith("warm hybrid, 300") for row in rows)
