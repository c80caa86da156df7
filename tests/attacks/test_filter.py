"""`filter` with long queries: bounded work, in threads of its own, that ends with the process."""

import json
import signal
import threading
import time
from pathlib import Path

import httpx2
import pytest

from tests.attacks.stalls import LIMIT_UNITS, least_stall, unit_s
from tests.contract.test_calls import FILTER
from tests.support import Process, crowd, raw_request, running, until

REPEATED = {"query": "a" * 400_000, "tools": [{"name": "a" * k} for k in range(1, 21)]}
WORDS = {"query": "item abc " * 200_000, "tools": crowd(300)}
MANY = {"query": "a" * 3_000_000, "tools": [{"name": "a" * k} for k in range(1, 502)]}


@pytest.mark.parametrize("body", [REPEATED, WORDS, MANY], ids=["letters", "words", "names"])
def test_a_long_query_holds_nobody_up(server: Process, body):
    answers = []
    seen = least_stall(server, lambda: answers.append(server.post(body, FILTER)))
    assert {answer.status_code for answer in answers} == {200}
    assert seen.stall_units <= LIMIT_UNITS


def test_new_lists_are_answered_while_long_work_runs(server: Process):
    def flood() -> None:
        with httpx2.Client(base_url=server.url, timeout=60, trust_env=False) as client:
            client.post(FILTER, json=MANY)

    threads = [threading.Thread(target=flood) for _ in range(8)]
    for thread in threads:
        thread.start()
    answer = server.search("spin", crowd(700, f"flood{time.time_ns()}"))
    assert answer.status_code == 200
    for thread in threads:
        thread.join()


def test_sigterm_ends_the_process_while_threads_compute(tmp_path: Path):
    tools = [
        {"name": f"tool_{n}", "description": f"{n} " + "lorem ipsum dolor " * 400}
        for n in range(1_500)
    ]
    body = json.dumps({"pattern": "lorem", "tools": tools}).encode()
    unit = unit_s()
    with running(tmp_path, "--drain-s", "0", "--shutdown-s", "0") as server:
        with server.connect() as connection:
            connection.sendall(raw_request(body))
            until(lambda: server.metric("toolscout_compiles_in_progress") >= 1)
            server.signal(signal.SIGTERM)
            began = time.perf_counter()
            status = server.wait()
        assert status == 0
        assert time.perf_counter() - began <= 60 * unit
