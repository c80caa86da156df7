"""The link to a worker: who is silent is replaced, and a worker compiles what its server would."""

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any
from unittest.mock import Mock

import pytest

from tests.support import (
    ENGINE,
    PATIENCE_S,
    TOOLS,
    crowd,
    select,
)
from toolscout.errors import TooMuchWork
from toolscout.index import compile as compile_module
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.tool_list import ToolList
from toolscout.index.transfer import Packed
from toolscout.ranking.ladder import Costs
from toolscout.server.compiling import link as link_module
from toolscout.server.compiling import queue as queue_module
from toolscout.server.compiling import worker as worker_module
from toolscout.server.compiling.link import CHECKS, IDLE_CHECKS, TRIES, Link, WorkerProcess
from toolscout.server.compiling.queue import CompileQueue
from toolscout.server.compiling.worker import (
    BEAT,
    HEARTBEAT_S,
    SentList,
    Worker,
    compile_list,
    read_list,
)
from toolscout.serving.connections import LoggedEvents
from toolscout.settings import Settings

SETTINGS = Settings()


class Deaf(WorkerProcess):
    """A worker that never replies, or whose connection has ended."""

    def __init__(self, *_: Any, is_gone: bool) -> None:
        self.connection, self.other = Pipe()
        self._ending = Lock()
        started.append(self)
        if is_gone:
            self.end()

    def end(self) -> None:
        with self._ending:
            if not self.other.closed:
                self.other.close()


started: list[Deaf] = []


@contextmanager
def linked(process: WorkerProcess) -> Iterator[Link]:
    link = Link(process, SETTINGS, ENGINE.compiler, lambda: None)
    link.open()
    yield link
    link.close()


@pytest.mark.anyio
async def test_what_ends_each_worker_is_given_up(monkeypatch: pytest.MonkeyPatch):
    gone = partial(Deaf, is_gone=True)
    started.clear()
    monkeypatch.setattr(link_module, "WorkerProcess", gone)
    with linked(gone()) as link, pytest.raises(TooMuchWork):
        await link.ask("call", "acme", print)
    assert len(started) >= TRIES
    assert link.lost >= TRIES


@pytest.mark.anyio
async def test_a_worker_that_says_nothing_is_replaced(monkeypatch: pytest.MonkeyPatch):
    silent = partial(Deaf, is_gone=False)
    started.clear()
    monkeypatch.setattr(link_module, "WorkerProcess", silent)
    clock = Mock()
    clock.monotonic.return_value = 0.0
    monkeypatch.setattr(link_module, "time", clock)

    def check_much_later() -> None:
        clock.monotonic.return_value += 2 * link_module.HUNG_S
        link.check_health()

    with linked(silent()) as link:
        check_much_later()
        assert len(started) == 1  # nothing was asked of it
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await link.ask("call", "acme", print)
        await asyncio.to_thread(started[0].other.recv_bytes)
        asked = asyncio.create_task(link.ask("call", "acme", print))
        while not asked.done():
            newest = started[-1].other
            if not newest.closed and newest.poll():  # it was asked
                newest.recv_bytes()
                check_much_later()
            await asyncio.sleep(0.001)
        with pytest.raises(TooMuchWork):
            await asked
        assert len(started) == 1 + TRIES


@pytest.mark.anyio
async def test_a_worker_that_misses_its_heartbeats_is_replaced(monkeypatch: pytest.MonkeyPatch):
    """Counted in checks, of which there are none while this process is not scheduled."""
    silent = partial(Deaf, is_gone=False)
    started.clear()
    monkeypatch.setattr(link_module, "WorkerProcess", silent)
    with linked(silent()) as link:
        asked = asyncio.create_task(link.ask("call", "acme", print))
        await asyncio.to_thread(started[0].other.recv_bytes)
        for _ in range(2 * CHECKS):
            link.check_health()
        assert len(started) == 1  # it has not begun to send any
        started[0].other.send((BEAT, None))
        while not link.has_begun:
            await asyncio.sleep(0.001)
        for _ in range(CHECKS + 1):
            link.check_health()
        while len(started) == 1:
            await asyncio.sleep(0.001)
        asked.cancel()


@pytest.mark.anyio
async def test_a_worker_that_is_asked_nothing_beats_all_the_same():
    with linked(WorkerProcess(SETTINGS)) as link:
        async with asyncio.timeout(PATIENCE_S):
            while not link.has_begun:
                await asyncio.sleep(0.01)


@pytest.mark.anyio
async def test_a_spawned_worker_compiles_the_same_with_other_hashes():
    raw = json.dumps(TOOLS + crowd(50)).encode()
    sent = SentList("acme", sha256(raw).digest(), raw)
    words: list[Catalog] = []
    with linked(WorkerProcess(SETTINGS)) as link:
        listing = await link.ask("read", "acme", read_list, sent)
        vectors, *_ = await link.ask("compile", "acme", compile_list, sent, on_words=words.append)
    catalog = words[0].with_vectors(vectors)
    own = ENGINE.compiler.compile(ToolList.decode(raw), CatalogCache().tools("acme"))
    assert catalog.digest == own.digest == listing.digest
    for pattern in ("read a file", "open a bug report", "spin gadget 7", "resise the pictur"):
        ours, theirs = select(own, pattern), select(catalog, pattern)
        assert ours.names == theirs.names
        assert ours.ranking.scores.tolist() == theirs.ranking.scores.tolist()
    assert [catalog.traits(row) for row in range(len(catalog))] == [
        own.traits(row) for row in range(len(own))
    ]


def import_path(_: Worker) -> list[str]:
    return sys.path


@pytest.mark.anyio
async def test_a_spawned_worker_imports_from_where_its_server_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "msgspec.py").write_text("raise SystemExit('not from the working directory')")
    monkeypatch.chdir(tmp_path)
    with linked(WorkerProcess(SETTINGS)) as link:
        assert await link.ask("call", "acme", import_path) == sys.path


def words_and_end(worker: Worker, sent: SentList, *args: Any, **options: Any) -> Iterator[Any]:
    """Send the words of a list; the first worker ends before their vectors."""
    replies, ended = compile_list(worker, sent, *args, **options), Path(sent.space)
    yield next(replies)
    if not ended.exists():
        ended.touch()
        os._exit(1)
    yield from replies


@pytest.mark.anyio
async def test_words_that_come_again_are_dropped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(queue_module.worker, "compile_list", words_and_end)
    raw = json.dumps(TOOLS).encode()
    queue = CompileQueue(
        ENGINE, CatalogCache(), SETTINGS, Costs(), LoggedEvents(logging.getLogger("worker"))
    )
    queue.open()
    try:
        job = queue.start(str(tmp_path / "ended"), sha256(raw).digest(), raw)
        catalog = await job.complete
    finally:
        queue.close()
    assert select(catalog, "read a file").names[0] == "read_file"


def turn_for_ever(_: Worker, sent: SentList) -> None:
    while sent:
        time.sleep(0.01)


@pytest.mark.anyio
async def test_a_compile_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch):
    sent = SentList("acme", b"", json.dumps(TOOLS).encode())
    with linked(WorkerProcess(SETTINGS)) as link:
        await link.ask("read", "acme", read_list, sent)
        monkeypatch.setattr(link_module, "HUNG_S", 2 * HEARTBEAT_S)
        asked = asyncio.create_task(link.ask("compile", "acme", turn_for_ever, sent))
        async with asyncio.timeout(PATIENCE_S):
            while not asked.done():
                link.check_health()
                await asyncio.sleep(0.1)
        with pytest.raises(TooMuchWork):
            await asked


def heartbeats(connection: Connection) -> int:
    """Return how often a worker told that it is alive, since it was last asked."""
    count = 0
    while connection.poll():
        assert connection.recv() == (0, None)
        count += 1
    return count


def test_a_compile_that_goes_on_tells_so(monkeypatch: pytest.MonkeyPatch):
    ours, theirs = Pipe()
    monkeypatch.setattr(worker_module, "HEARTBEAT_S", 0)
    monkeypatch.setattr(compile_module, "EMBEDDED_AT_ONCE", 1)
    raw = json.dumps(TOOLS).encode()
    replies = compile_list(Worker(theirs, ENGINE, SETTINGS), SentList("acme", b"", raw))
    assert isinstance(next(replies), Packed)
    assert heartbeats(ours) >= len(TOOLS)
    assert isinstance(next(replies), tuple)
    assert heartbeats(ours) >= len(TOOLS)


class Grown(Deaf):
    """A worker that takes as much memory as its test says."""

    nbytes = 0

    def measure_resident(self) -> int:
        return self.nbytes


@pytest.mark.anyio
@pytest.mark.parametrize("excess", [0, 1])
async def test_an_idle_worker_that_has_grown_is_replaced(
    monkeypatch: pytest.MonkeyPatch, excess: int
):
    make = partial(Grown, is_gone=False)
    started.clear()
    monkeypatch.setattr(link_module, "WorkerProcess", make)
    monkeypatch.setattr(link_module, "RESTART_S", 0)
    limit = link_module.GROWN_BYTES + SETTINGS.cache_bytes // link_module.GROWN_SHARE
    monkeypatch.setattr(Grown, "nbytes", limit + excess)
    restarted = Mock()
    link = Link(make(), SETTINGS, ENGINE.compiler, restarted)
    link.open()
    for _ in range(IDLE_CHECKS):
        link.check_health()
    assert started[0].other.closed == bool(excess)
    async with asyncio.timeout(PATIENCE_S):
        while len(started) < 1 + excess:
            await asyncio.sleep(0.001)
    asked = asyncio.create_task(link.ask("call", "acme", print))
    await asyncio.to_thread(started[-1].other.recv_bytes)
    for _ in range(2 * IDLE_CHECKS):
        link.check_health()
    assert not started[-1].other.closed  # it is asked something
    asked.cancel()
    restarted.assert_not_called()
    link.close()


def test_a_worker_tells_its_resident_memory():
    process = WorkerProcess(SETTINGS)
    if Path("/proc/self/statm").exists():
        assert process.measure_resident() > 0
    process.end()
    assert process.measure_resident() == 0
