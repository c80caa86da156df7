"""Readers that do not read, stores that hang, crawl or answer rubbish, a worker that dies."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from evals.speed.processes import below
from tests.attacks import peers
from tests.attacks.attack import FIRST, FLOOD, KEYS, Attack, Start, at_once, post, with_flags
from tests.attacks.dearest import CATALOG, V1
from tests.server.test_log import DROPPED, piped
from tests.support import SEARCH, TOOLS, Process, crowd, until

UNREAD = 'toolscout_connections_refused_total{reason="unread_answer"}'


def _unread(server: Process) -> None:
    """Ask for answers over 40 connections, and read none until the service gives them up."""
    digest = post(server, SEARCH, {"pattern": "x", "tools": peers.WORDY}).headers[
        "x-catalog-digest"
    ]
    headers = [f"Authorization: Bearer {FIRST}"]
    with ExitStack() as callers:
        for _ in range(40):
            callers.enter_context(peers.deaf(server, digest, headers))
        until(lambda: server.metric(UNREAD) == 40)


def _log_unread(server: Process) -> None:
    """Search on after the log's reader stopped, until lines are lost and then some more."""
    long = {"pattern": "read a file " * 8_000, "tools": TOOLS}
    until(lambda: post(server, SEARCH, long).is_success and server.metric(DROPPED) > 0)
    for _ in range(20):
        assert post(server, SEARCH, long).is_success


@contextmanager
def _log_to_nobody(folder: Path) -> Iterator[Process]:
    with piped(folder, TOOLSCOUT_API_KEYS=KEYS) as (server, _):
        yield server


def _on_store(name: str) -> Start:
    @contextmanager
    def start(folder: Path) -> Iterator[Process]:
        with peers.store(peers.STORES[name]) as url, with_flags("--store", url)(folder) as server:
            yield server

    return start


@contextmanager
def _on_locked_file(folder: Path) -> Iterator[Process]:
    path = folder / "state.db"
    with with_flags("--store", f"sqlite:{path}")(folder) as server, peers.locked(path):
        yield server


def _all_ways_to_the_store(server: Process) -> None:
    """Have the store asked and written to in every way, by several callers."""

    def ask() -> None:
        for number in range(3):
            new = {"pattern": "spin", "tools": crowd(20, f"{threading.get_ident()}x{number}")}
            event = {"pattern": "spin", "tool": "read_file", "success": True}
            answers = (
                post(server, SEARCH, new),
                post(server, SEARCH, {"pattern": "spin", "catalog": f"{number:064x}"}),
                post(server, SEARCH, {"pattern": "spin", "catalog": "office"}),
                post(server, CATALOG, {"tools": TOOLS}, "PUT"),
                post(server, V1 + "feedback", event),
                post(server, "/v1/learning", b"", "DELETE"),
            )
            unfit.update({answer.status_code for answer in answers} - {200, 404, 503})

    unfit: set[int] = set()
    at_once(FLOOD, ask)
    assert not unfit, unfit


def _worker_killed(server: Process) -> None:
    """Kill the worker again and again while it compiles lists that nobody sent before."""
    for number in range(5):
        tools = crowd(2_000, f"killed{number}")
        body = {"pattern": "spin", "tools": tools, "latency_budget_ms": 10_000}
        asking = threading.Thread(target=post, args=(server, SEARCH, body))
        asking.start()
        with suppress(ProcessLookupError):
            os.kill(below(server.process.pid)[-1], signal.SIGKILL)
        asking.join()


def of_peers() -> Iterator[Attack]:
    """List the attacks of readers that stop, stores that are none, and a worker that dies."""
    yield Attack("worker: killed while it compiles", _worker_killed)
    impatient = with_flags("--caller-timeout-s", "2")
    yield Attack("readers: 40 that read no answer", _unread, start=impatient)
    yield Attack("readers: of the log, stopped", _log_unread, start=_log_to_nobody)
    ask = _all_ways_to_the_store
    for name in peers.STORES:
        yield Attack(f"store: {name}", ask, start=_on_store(name))
    yield Attack("store: locked file", ask, start=_on_locked_file)
