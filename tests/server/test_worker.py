"""The worker process: it is replaced when it ends, ends with its server, and compiles the same."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from tests.support import ENGINE, TOOLS, Server, crowd, running, select, until
from toolscout.errors import TooMuchWork
from toolscout.index.cache import CatalogCache
from toolscout.index.packing import unpack
from toolscout.index.tool_list import ToolList
from toolscout.server.compiling.link import TRIES, Link
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
from toolscout.server.compiling.nursery import Nursery

SETUP = Setup(None, None, None, 10_000, 2**26)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Server]:
    with running(tmp_path) as server:
        yield server


def children(process: int) -> list[int]:
    """The processes below one, its own children first."""
    found = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        found += list(map(int, path.read_text().split()))
    return found + [below for child in found for below in children(child)]


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_workers_are_forked_where_that_is_safe(fresh: Server):
    nurse, worker = children(fresh.process.pid)
    assert children(nurse) == [worker]


def test_each_of_several_processes_has_a_worker_of_its_own(tmp_path: Path):
    with running(tmp_path, "--workers", "2") as server:
        # uvicorn's two, what multiprocessing tracks resources with, two that fork, two workers.
        until(lambda: len(children(server.process.pid)) == 7)


def test_a_worker_that_ends_is_replaced_and_asked_again(fresh: Server):
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(fresh.search, "spin", crowd(2_000, "ended"))
        until(lambda: fresh.metric("toolscout_compiles_in_progress") == 1)
        os.kill(children(fresh.process.pid)[-1], signal.SIGKILL)
        assert "degraded=no" in answer.result().headers["x-tool-selection"]
    assert fresh.names()[0] == "read_file"
    until(lambda: "the worker ended" in fresh.stdout)


def test_a_worker_is_replaced_without_what_forks_it(fresh: Server):
    for process in children(fresh.process.pid):
        os.kill(process, signal.SIGKILL)
    assert fresh.names()[0] == "read_file"


def test_a_worker_leaves_signals_to_its_server(fresh: Server):
    below = children(fresh.process.pid)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        for process in below:
            os.kill(process, number)
    assert fresh.names()[0] == "read_file"
    assert children(fresh.process.pid) == below


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_ends_with_its_server(fresh: Server, number: signal.Signals):
    below = children(fresh.process.pid)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(fresh.search, "spin", crowd(5_000, "busy"))
        until(lambda: fresh.metric("toolscout_compiles_in_progress") == 1)
        fresh.signal(number)
        fresh.wait()
    until(lambda: not any(map(is_alive, below)))


def test_what_ends_each_worker_is_given_up():
    class Deadly(Nursery):
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


def test_a_spawned_worker_compiles_the_same_with_other_hashes():
    raw = json.dumps(TOOLS + crowd(50)).encode()
    replies: Queue[Any] = Queue()
    link = Link(Nursery(None), SETUP, lambda: None)
    link.open()
    try:
        number = link.ask(Read(Sent.of("acme", sha256(raw).digest(), raw)), replies.put)
        listing = replies.get(timeout=60)
        assert isinstance(listing, Listing)
        link.tell(number, Compile())
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
