"""The worker process of a running server: it is replaced when it ends, and ends with it."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from evals.speed.processes import below
from tests.support import (
    Process,
    crowd,
    problem_of,
    running,
    until,
)
from toolscout.server.calls.new_lists import SCANNED_HERE_BYTES
from toolscout.server.compiling.link import HUNG_S, TRIES


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


def test_a_list_that_the_worker_does_not_read_is_answered_by_its_words(fresh: Process):
    (worker,) = below(fresh.process.pid)
    with ThreadPoolExecutor(1) as pool:
        os.kill(worker, signal.SIGSTOP)
        try:
            large = [{"name": "large", "description": "x" * SCANNED_HERE_BYTES}]
            refused = pool.submit(fresh.search, "spin", large, latency_budget_ms=1)
            answer = fresh.search("spin", crowd(3, "other"), latency_budget_ms=1)
            problem_of(refused.result(), 503, "worker_unavailable")
        finally:
            with suppress(ProcessLookupError):  # on a busy machine it was replaced meanwhile
                os.kill(worker, signal.SIGCONT)
    assert int(refused.result().headers["retry-after"]) >= 1
    assert answer.json()["selected_names"][0].startswith("other")
    assert "degraded=keyword" in answer.headers["x-tool-selection"]


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
