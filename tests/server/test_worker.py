"""The worker process: it is replaced when it ends, ends with its server, and compiles the same."""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from queue import Queue
from typing import Any

import httpx2
import pytest

from evals.speed.processes import below
from tests.support import ENGINE, TOOLS, Server, crowd, running, select, until
from toolscout.errors import TooMuchWork
from toolscout.index.cache import CatalogCache
from toolscout.index.packing import unpack
from toolscout.index.tool_list import ToolList
from toolscout.server.compiling import link as link_module
from toolscout.server.compiling.fork_server import ForkServer
from toolscout.server.compiling.link import HUNG_S, TRIES, Link
from toolscout.server.compiling.messages import (
    Compile,
    Complete,
    Failed,
    Lexical,
    Listing,
    Read,
    Sent,
    Setup,
)

SETUP = Setup(None, None, None, 10_000, 2**26)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Server]:
    with running(tmp_path) as server:
        yield server


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_workers_are_forked_where_that_is_safe(fresh: Server):
    nurse, worker = below(fresh.process.pid)
    assert below(nurse) == [worker]


def test_a_worker_that_ends_is_replaced_and_asked_again(fresh: Server):
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(fresh.search, "spin", crowd(2_000, "ended"))
        until(lambda: fresh.metric("toolscout_compiles_in_progress") == 1)
        os.kill(below(fresh.process.pid)[-1], signal.SIGKILL)
        assert "degraded=no" in answer.result().headers["x-tool-selection"]
    assert fresh.names()[0] == "read_file"
    until(lambda: "the worker ended" in fresh.stdout)


def test_a_worker_is_replaced_without_what_forks_it(fresh: Server):
    for process in below(fresh.process.pid):
        os.kill(process, signal.SIGKILL)
    assert fresh.names()[0] == "read_file"


def test_a_worker_leaves_signals_to_its_server(fresh: Server):
    processes = below(fresh.process.pid)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        for process in processes:
            os.kill(process, number)
    assert fresh.names()[0] == "read_file"
    assert below(fresh.process.pid) == processes


def test_a_worker_that_is_stopped_ends_with_its_server(fresh: Server):
    nurse, worker = below(fresh.process.pid)
    for process in (worker, nurse):
        os.kill(process, signal.SIGSTOP)
    fresh.signal(signal.SIGTERM)
    fresh.wait()
    until(lambda: not is_alive(nurse) and not is_alive(worker))


@pytest.mark.integration
def test_a_worker_that_hangs_is_replaced_and_nobody_waits_for_ever(fresh: Server):
    until(lambda: "cache=hit" in fresh.search().headers["x-tool-selection"])
    with ThreadPoolExecutor(3) as pool:
        begun = pool.submit(_put, fresh, "begun", crowd(8_000, "begun"))
        until(lambda: fresh.metric("toolscout_compiles_in_progress") == 1)
        worker = below(fresh.process.pid)[-1]
        os.kill(worker, signal.SIGSTOP)
        new = pool.submit(_put, fresh, "new", crowd(3, "new"))
        unknown = pool.submit(fresh.search, "spin other", crowd(3, "other"))
        assert fresh.names()[0] == "read_file"  # known tools are answered all the same
        for refused in (new, unknown):
            assert refused.result().status_code == HTTPStatus.SERVICE_UNAVAILABLE
            assert "retry-after" in refused.result().headers
        # By the next worker, if it was read when the first one hung.
        assert begun.result().status_code in (HTTPStatus.CREATED, HTTPStatus.SERVICE_UNAVAILABLE)
    until(lambda: "the worker ended" in fresh.stdout)
    assert not is_alive(worker)
    assert _put(fresh, "new", crowd(3, "new")).status_code == HTTPStatus.CREATED


@pytest.mark.integration
def test_what_forks_workers_is_replaced_when_it_hangs(fresh: Server):
    nurse, worker = below(fresh.process.pid)
    os.kill(nurse, signal.SIGSTOP)
    os.kill(worker, signal.SIGKILL)
    answer = fresh.search("spin gadget", crowd(3))
    assert answer.status_code == HTTPStatus.OK
    assert not is_alive(nurse)


def _put(server: Server, name: str, tools: list[dict[str, Any]]) -> httpx2.Response:
    return server.client.put(
        f"/v1/catalogs/{name}", json={"tools": tools}, timeout=2 * TRIES * HUNG_S
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_ends_with_its_server(fresh: Server, number: signal.Signals):
    processes = below(fresh.process.pid)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(fresh.search, "spin", crowd(5_000, "busy"))
        until(lambda: fresh.metric("toolscout_compiles_in_progress") == 1)
        fresh.signal(number)
        fresh.wait()
    until(lambda: not any(map(is_alive, processes)))


def test_what_ends_each_worker_is_given_up():
    class Deadly(ForkServer):
        def start(self) -> socket.socket:
            ours, theirs = socket.socketpair()
            theirs.shutdown(socket.SHUT_WR)
            started.append(theirs)
            return ours

    started: list[socket.socket] = []
    replies: Queue[Any] = Queue()
    link = Link(Deadly(None), SETUP, lambda: None)
    link.open()
    link.ask("anything", replies.put)
    failed = replies.get(timeout=30)
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, TooMuchWork)
    assert len(started) >= TRIES
    link.close()
    for each in started:
        each.close()


def test_a_worker_that_says_nothing_is_replaced(monkeypatch: pytest.MonkeyPatch):
    class Silent(ForkServer):
        def start(self) -> socket.socket:
            ours, theirs = socket.socketpair()
            started.append(theirs)
            return ours

    monkeypatch.setattr(link_module, "HUNG_S", 0.2)
    started: list[socket.socket] = []
    replies: Queue[Any] = Queue()
    link = Link(Silent(None), SETUP, lambda: None)
    link.open()
    link.check_health()
    time.sleep(0.3)
    link.check_health()
    assert len(started) == 1  # nothing was asked of it
    link.abandon(link.ask("abandoned", replies.put))
    link.ask("anything", replies.put)
    link.check_health()
    assert len(started) == 1

    def is_given_up() -> bool:
        link.check_health()
        return not replies.empty()

    until(is_given_up)
    assert isinstance(replies.get().error, TooMuchWork)
    link.close()
    for each in started:
        each.close()


def test_a_spawned_worker_compiles_the_same_with_other_hashes():
    raw = json.dumps(TOOLS + crowd(50)).encode()
    replies: Queue[Any] = Queue()
    link = Link(ForkServer(None), SETUP, lambda: None)
    link.open()
    try:
        sent = Sent.of("acme", sha256(raw).digest(), raw)
        link.ask(Read(sent), replies.put)
        listing = replies.get(timeout=60)
        assert isinstance(listing, Listing)
        link.ask(Compile(sent), replies.put)
        lexical, complete = replies.get(timeout=60), replies.get(timeout=60)
    finally:
        link.close()
    assert isinstance(lexical, Lexical)
    assert isinstance(complete, Complete)
    catalog = unpack(lexical.packed, ENGINE.compiler).with_vectors(*complete.vectors)
    own = ENGINE.compiler.compile(ToolList.decode(raw), CatalogCache().tools("acme"))
    assert catalog.digest == own.digest == listing.digest
    for pattern in ("read a file", "open a bug report", "spin gadget 7", "resise the pictur"):
        ours, theirs = select(own, pattern), select(catalog, pattern)
        assert ours.names == theirs.names
        assert ours.ranking.scores.tolist() == theirs.ranking.scores.tolist()
    assert [catalog.traits(row) for row in range(len(catalog))] == [
        own.traits(row) for row in range(len(own))
    ]
