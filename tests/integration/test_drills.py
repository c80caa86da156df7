"""What operators fear, with real processes behind a real balancer; each drill prints figures."""

import json
import socket
import time
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests import balancer
from tests.support import PATIENCE_S, SEARCH, TOOLS, read_response, until

pytestmark = [pytest.mark.integration, pytest.mark.alone]


def calls(traffic: balancer.Traffic, count: int) -> None:
    """Wait until so many further calls have ended."""
    goal = len(traffic.answers) + count
    until(lambda: len(traffic.answers) >= goal)


@pytest.mark.parametrize("program", ["haproxy", "envoy"])
def test_a_killed_replica_costs_callers_nothing(tmp_path: Path, program: str):
    with (
        balancer.running(tmp_path, program=program) as balanced,
        balancer.Traffic(balanced.port) as traffic,
    ):
        calls(traffic, 200)
        until(lambda: all(replica.answered() for replica in balanced.replicas))
        killed = time.monotonic()
        balanced.replicas[0].kill()
        calls(traffic, 400)
        balanced.replicas[0].restart()
        until(lambda: balanced.replicas[0].answered() > 0)
    lost = traffic.failures
    recovered = max((when - killed for when, _ in lost), default=0.0)
    said = f"{traffic.summary()}; last failure after {recovered:.2f} s"
    print(f"\nkill -9 of one of two behind {program}: {said}")
    assert lost == []


def test_a_rolling_restart_costs_callers_nothing(tmp_path: Path):
    with (
        balancer.running(tmp_path, "--drain-s", "2") as balanced,
        balancer.Traffic(balanced.port) as traffic,
    ):
        calls(traffic, 100)
        for replica in balanced.replicas:
            assert replica.stop() == 0
            replica.restart()
            time.sleep(2)  # the balancer asks twice, half a second apart, before it sends
        calls(traffic, 100)
    print(f"\nrolling restart of two: {traffic.summary()}")
    assert traffic.failures == []


@pytest.mark.parametrize("program", balancer.PROGRAMS)
def test_one_digest_finds_one_replica(tmp_path: Path, program: str):
    seen: Counter[int] = Counter()
    with balancer.running(tmp_path, program=program) as balanced:
        connection = HTTPConnection("127.0.0.1", balanced.port, timeout=PATIENCE_S)

        def post(body: dict, digest: str) -> tuple[int, str]:
            headers = {"Content-Type": "application/json"}
            if digest:
                headers["X-Catalog-Digest"] = digest
            connection.request("POST", SEARCH, json.dumps(body), headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status, answer.getheader("X-Catalog-Digest", "")

        for number in range(40):
            tools = [{**tool, "description": f"{tool['description']} {number}"} for tool in TOOLS]
            status, digest = post({"pattern": "read", "tools": tools}, "")
            assert status == 200
            if post({"pattern": "read", "catalog": digest}, digest)[0] == 404:
                assert post({"pattern": "read", "tools": tools}, digest)[0] == 200
            for _ in range(10):
                seen[post({"pattern": "read", "catalog": digest}, digest)[0]] += 1
        connection.close()
        assert all(replica.answered() for replica in balanced.replicas)
    said = f"{seen[200]} of {seen.total()} known"
    print(f"\n40 catalogs by digest over two replicas behind {program}: {said}")
    assert seen == {200: 400}


def test_callers_that_never_finish_keep_nobody_else_out(tmp_path: Path):
    """More of them than the replicas together would take, first with headers, then with bodies."""
    head = f"POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    started = (head, head + 'Content-Length: 2000\r\n\r\n{"pattern":')
    with balancer.running(tmp_path, "--max-in-flight", "32") as balanced:
        slow = []
        for number in range(200):
            slow.append(socket.create_connection(("127.0.0.1", balanced.port), PATIENCE_S))
            slow[-1].sendall(started[number % 2].encode())
        with balancer.Traffic(balanced.port) as traffic:
            calls(traffic, 200)
        ends = Counter(read_response(connection)[0] for connection in slow)
        for connection in slow:
            connection.close()
    print(f"\nbeside 200 callers that never finish: {traffic.summary()}; they got {dict(ends)}")
    assert traffic.failures == []
    assert ends == {408: 200}
