"""The worker process: it is replaced when it ends, ends with its server, and compiles the same."""

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any
from unittest.mock import Mock

import httpx2
import pytest

from evals.speed.processes import below
from tests.support import (
    ENGINE,
    PATIENCE_S,
    TOOLS,
    Process,
    crowd,
    problem_of,
    running,
    select,
    until,
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
from toolscout.server.compiling.link import CHECKS, HUNG_S, TRIES, Link, WorkerProcess
from toolscout.server.compiling.queue import CompileQueue
from toolscout.server.compiling.worker import (
    BEAT,
    HEARTBEAT_S,
    Sent,
    Worker,
    compile_list,
    read_list,
)
from toolscout.serving.connections import LoggedEvents
from toolscout.settings import Settings

SETTINGS = Settings()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Process]:
    with running(tmp_path) as server:
        yield server


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_first_worker_is_forked_where_that_is_safe(fresh: Process):
    (worker,) = below(fresh.process.pid)
    assert "compiling.worker" not in Path(f"/proc/{worker}/cmdline").read_text()


def test_a_worker_that_ends_is_replaced_and_asked_again(fresh: Process):
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(fresh.search, "spin", crowd(2_000, "ended"))
        until(lambda: fresh.metric("toolscout_compiles_in_progress") == 1)
        os.kill(below(fresh.process.pid)[-1], signal.SIGKILL)
        assert "degraded=no" in answer.result().headers["x-tool-selection"]
    assert fresh.names()[0] == "read_file"
    until(lambda: "the worker ended" in fresh.stdout)


def test_a_new_worker_has_no_file_of_its_server(tmp_path: Path):
    opened = 'exec "$@" </dev/zero 7</dev/zero'
    with running(tmp_path, before=["sh", "-c", opened, "sh"]) as server:
        (first,) = below(server.process.pid)
        os.kill(first, signal.SIGKILL)
        until(lambda: below(server.process.pid) not in ([], [first]))
        assert server.names()[0] == "read_file"
        (worker,) = below(server.process.pid)
        files = [str(each.readlink()) for each in Path(f"/proc/{worker}/fd").iterdir()]
        assert "/dev/null" in files
        assert "/dev/zero" not in files


def test_a_worker_leaves_signals_to_its_server(fresh: Process):
    processes = below(fresh.process.pid)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        for process in processes:
            os.kill(process, number)
    assert fresh.names()[0] == "read_file"
    assert below(fresh.process.pid) == processes


def test_a_worker_that_is_stopped_ends_with_its_server(fresh: Process):
    (worker,) = below(fresh.process.pid)
    os.kill(worker, signal.SIGSTOP)
    fresh.signal(signal.SIGTERM)
    fresh.wait()
    until(lambda: not is_alive(worker))


def test_a_list_that_the_worker_does_not_read_is_refused_after_its_budget(fresh: Process):
    (worker,) = below(fresh.process.pid)
    with ThreadPoolExecutor(1) as pool:
        os.kill(worker, signal.SIGSTOP)
        try:
            patient = pool.submit(fresh.search, "spin", crowd(3, "patient"))
            refused = fresh.search("spin", crowd(3, "other"), latency_budget_ms=1)
            is_patient = not patient.done()
        finally:
            os.kill(worker, signal.SIGCONT)
        problem_of(refused, 503, "worker_unavailable")
        assert int(refused.headers["retry-after"]) >= 1
        assert is_patient
        assert patient.result().status_code == 200


@pytest.mark.integration
def test_a_worker_that_hangs_is_replaced_and_nobody_waits_for_ever(fresh: Process):
    until(lambda: "cache=hit" in fresh.search().headers["x-tool-selection"])
    with ThreadPoolExecutor(3) as pool:
        begun = pool.submit(_put, fresh, "begun", crowd(8_000, "begun"))
        until(lambda: fresh.metric("toolscout_compiles_in_progress") == 1)
        worker = below(fresh.process.pid)[-1]
        os.kill(worker, signal.SIGSTOP)
        new = pool.submit(_put, fresh, "new", crowd(3, "new"))
        unknown = pool.submit(fresh.search, "spin other", crowd(3, "other"))
        assert fresh.names()[0] == "read_file"  # known tools are answered all the same
        # By the next worker, which is there five heartbeats later, or refused by then.
        for asked in (begun, new, unknown):
            assert asked.result().is_success or asked.result().headers["retry-after"]
    until(lambda: "the worker ended" in fresh.stdout)
    assert not is_alive(worker)
    assert _put(fresh, "new", crowd(3, "new")).is_success


def _put(server: Process, name: str, tools: list[dict[str, Any]]) -> httpx2.Response:
    return server.client.put(
        f"/v1/catalogs/{name}", json={"tools": tools}, timeout=2 * TRIES * HUNG_S
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_ends_with_its_server(fresh: Process, number: signal.Signals):
    processes = below(fresh.process.pid)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(fresh.search, "spin", crowd(5_000, "busy"))
        until(lambda: fresh.metric("toolscout_compiles_in_progress") == 1)
        fresh.signal(number)
        fresh.wait()
    until(lambda: not any(map(is_alive, processes)))


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
    sent = Sent("acme", sha256(raw).digest(), raw)
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


def words_and_end(worker: Worker, sent: Sent, *args: Any, **options: Any) -> Iterator[Any]:
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


def turn_for_ever(_: Worker, sent: Sent) -> None:
    while sent:
        time.sleep(0.01)


@pytest.mark.anyio
async def test_a_compile_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch):
    sent = Sent("acme", b"", json.dumps(TOOLS).encode())
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
    replies = compile_list(Worker(theirs, ENGINE, SETTINGS), Sent("acme", b"", raw))
    assert isinstance(next(replies), Packed)
    assert heartbeats(ours) >= len(TOOLS)
    assert isinstance(next(replies), tuple)
    assert heartbeats(ours) >= len(TOOLS)
