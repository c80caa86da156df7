"""Much of everything: the process neither grows nor keeps anybody waiting; figures are printed."""

import json
import resource
import socket
from contextlib import ExitStack

import pytest

from evals.speed import client, servers, traffic
from loadtests.watch import sample
from tests.support import PATIENCE_S, crowd

pytestmark = [pytest.mark.integration, pytest.mark.alone]

CATALOGS = 10_000
IDLE = 1_000


def distinct(number: int) -> bytes:
    tools = [{**tool, "description": f"{number} {tool['description']}"} for tool in crowd(40)]
    return traffic.inline(json.dumps(tools), traffic.PROSE[:1])[0]


@pytest.mark.nightly
def test_memory_stays_flat_over_ten_thousand_catalogs():
    full = 0.0
    with servers.toolscout("--cache-bytes", str(24 * 2**20)) as server:
        for number in range(CATALOGS):
            client.call(server.port, distinct(number))
            if number == CATALOGS // 5:
                full, _ = server.memory_mib()
        later, peak = server.memory_mib()
    print(f"\n{CATALOGS:,} catalogs of 40 tools, cache of 24 MiB: {full:.0f} MiB after a fifth")
    print(f"of them, {later:.0f} MiB after all, {peak:.0f} MiB at most")
    assert later < full + 32


def test_idle_connections_cost_nobody_anything():
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    idle = min(IDLE, limit - 100)
    calls = traffic.inline(json.dumps(crowd(300)), traffic.PROSE)
    with servers.toolscout() as server, ExitStack() as open_ones:
        before = sample(server.pid, 0).memory_mib
        alone = client.run(server.port, calls, 4, 400)
        for _ in range(idle):
            connection = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
            open_ones.enter_context(connection)
        beside = client.run(server.port, calls, 4, 400)
        after = sample(server.pid, 0)
    print(f"\n{idle} idle connections: p50 {alone.quantile(0.5):.1f} ms without them,")
    print(f"{beside.quantile(0.5):.1f} ms beside them; {after.memory_mib - before:.0f} MiB more")
    assert beside.statuses == {200: 400}
    assert after.files >= idle
