"""`toolscout proxy --workers`: processes that share a port, and figures that add up."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.client.upstream import Peer, peer
from tests.gateway.proxies import proxy
from tests.support import PATIENCE_S, Process, environment, free_port, until
from tests.turns.shapes import BY_NAME, Said

OPENAI = BY_NAME["openai"]
TOOLS = [OPENAI.tool(f"tool_{n}", f"Does the thing of number {n}") for n in range(30)]

FRESH = {"before": ("env",)}
"""Starts an interpreter of its own, which has not loaded the library of figures yet."""


@pytest.fixture
def upstream() -> Iterator[Peer]:
    answer = json.dumps(OPENAI.response(Said("Done."))).encode()
    with peer(
        lambda exchange: exchange.answer(answer, headers=[("Content-Type", "application/json")])
    ) as started:
        yield started


@pytest.fixture
def service() -> Iterator[Peer]:
    with peer(lambda exchange: exchange.select("tool_1")) as started:
        yield started


def workers_of(server: Process) -> list[int]:
    main = server.process.pid
    return [*map(int, Path(f"/proc/{main}/task/{main}/children").read_text().split())]


def ask(server: Process, number: int) -> None:
    body = OPENAI.request(f"do the thing of number {number}", TOOLS)
    with httpx2.Client(base_url=server.url, timeout=30) as client:  # a connection of its own
        client.post("/v1/chat/completions", json=body).raise_for_status()


def test_workers_share_a_port_and_one_that_dies_is_replaced(upstream, service):
    metrics = free_port()
    flags = ("--workers", "2", "--metrics-port", str(metrics))
    with proxy(f"{upstream.url}/v1", *flags, selector=service.url, **FRESH) as server:

        def searches() -> float:
            text = httpx2.get(f"http://127.0.0.1:{metrics}/metrics").text
            lines = [line for line in text.splitlines() if "searches_total{" in line]
            return sum(float(line.rpartition(" ")[2]) for line in lines)

        until(lambda: len(workers_of(server)) == 2)
        for number in range(6):
            ask(server, number)
        assert searches() == 6
        dead, left = workers_of(server)
        os.kill(dead, signal.SIGKILL)
        ask(server, 6)
        until(lambda: len({*workers_of(server)} - {dead, left}) == 1)
        until(lambda: searches() == 7)  # not while the new worker makes its file of figures
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
        assert f"worker {dead} has ended" in server.stderr
    assert len(upstream.requests) == 7


def test_workers_end_with_a_proxy_that_is_killed(upstream, service):
    with proxy(f"{upstream.url}/v1", "--workers", "2", selector=service.url, **FRESH) as server:
        until(lambda: len(workers_of(server)) == 2)
        ask(server, 1)
        workers = workers_of(server)
        server.signal(signal.SIGKILL)
        server.wait()
        until(lambda: not any(Path(f"/proc/{worker}/cmdline").exists() for worker in workers))


EARLY = """
import os, signal, sys
from uvicorn import Server
from toolscout.cli import main

run = Server.run

def early(server, sockets):
    os.kill(os.getpid(), signal.SIGTERM)
    return run(server, sockets)

Server.run = early
sys.exit(main(["proxy", "--upstream", "http://127.0.0.1:9", "--port", "0"]))
"""


def test_a_signal_that_comes_before_it_serves_ends_a_proxy():
    ended = subprocess.run([sys.executable, "-c", EARLY], env=environment(), timeout=PATIENCE_S)
    assert ended.returncode == 0
