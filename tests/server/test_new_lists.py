"""A new list is answered by its words, also where the worker does nothing of it in time."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.in_process import serving
from tests.support import TOOLS, Server, problem_of
from toolscout.server.calls import new_lists
from toolscout.server.compiling import queue as queue_module
from toolscout.server.compiling.queue import CompileQueue
from toolscout.server.compiling.worker import SentList, Worker


def block(worker: Worker, sent: SentList, *_: Any) -> None:
    """Never finish."""
    Event().wait()


BLOCKED = {
    "reading": [(queue_module.worker, "read_list")],
    "scanning": [(queue_module.worker, "compile_list"), (new_lists, "scan")],
}


@pytest.fixture(params=BLOCKED)
def late(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Server]:
    """Yield a service whose worker never comes to an end with new lists."""
    for module, name in BLOCKED[request.param]:
        monkeypatch.setattr(module, name, block)
    monkeypatch.setattr(new_lists, "READ_S", 0.2)
    with serving(tmp_path) as server:
        yield server


def test_a_list_that_the_worker_has_no_time_for_is_scanned_here(late: Server):
    answer = late.search("read a file", TOOLS, top_k=1, latency_budget_ms=1)
    assert answer.json()["selected_names"] == ["read_file"]
    told = answer.headers["x-tool-selection"]
    assert told.startswith(f"{len(TOOLS)}->1; ranker=keyword")
    assert "cache=miss" in told


def test_a_large_one_is_refused_because_the_process_is_busy(
    late: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(new_lists, "SCANNED_HERE_BYTES", 10)
    refused = late.search("read a file", TOOLS, latency_budget_ms=1)
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) >= 1
    assert "send less" not in refused.json()["detail"]


def test_one_over_which_a_worker_may_have_ended_is_not_read_here(
    late: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(CompileQueue, "has_lost_worker", lambda *_: True)
    assert late.search("read a file", TOOLS, latency_budget_ms=1).status_code == 503


@pytest.mark.parametrize("late", ["reading"], indirect=True)
def test_what_is_wrong_with_a_list_is_told_here_too(late: Server):
    wrong = late.search("read a file", [{"name": "a", "status": "broken"}], latency_budget_ms=1)
    problem_of(wrong, 422, "invalid_request")
