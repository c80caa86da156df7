"""Too many requests at once: some get 503 with Retry-After, none get anything worse."""

import json
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support import (
    SEARCH,
    TOOLS,
    Process,
    crowd,
    problem_of,
    raw_request,
    read_response,
    running,
    until,
)
from toolscout.errors import Overloaded
from toolscout.ranking.ladder import Costs
from toolscout.server.http.admission import ALWAYS_ADMITTED, PROBES, Admission, AdmissionSlot

BODY = json.dumps({"pattern": "read a file", "top_k": 1, "tools": TOOLS[:3]}).encode()
IN_FLIGHT = "toolscout_inflight_requests"


@contextmanager
def one_in_flight(server: Process) -> Iterator[None]:
    """Yield a request whose headers have arrived and whose body comes at the end."""
    with server.connect() as connection:
        request = raw_request(BODY)
        connection.sendall(request[: -len(BODY)])
        until(lambda: server.metric(IN_FLIGHT) == 1)
        yield
        connection.sendall(BODY)
        status, _, answer = read_response(connection)
        assert status == 200, answer
        assert json.loads(answer) == {"selected_names": ["read_file"]}


def test_a_request_counts_from_its_headers_on(crowded: Process):
    with one_in_flight(crowded):
        response = crowded.post(BODY)
        problem_of(response, 503, "overloaded")
        assert int(response.headers["retry-after"]) >= 1
        assert response.headers["connection"] == "close"
    assert crowded.post(BODY).status_code == 200


def test_a_process_that_was_stopped_refuses_nobody_when_it_goes_on(tmp_path: Path):
    with running(tmp_path, "--max-lag-ms", "1000") as server, ExitStack() as open_connections:
        assert server.post(BODY).status_code == 200
        connections = [open_connections.enter_context(server.connect()) for _ in range(16)]
        until(lambda: server.metric(IN_FLIGHT) == 0)
        server.signal(signal.SIGSTOP)
        try:
            for connection in connections:
                connection.sendall(raw_request(BODY))
            time.sleep(2.5)  # how long it is stopped: longer than the lag it may have
        finally:
            server.signal(signal.SIGCONT)
        assert [read_response(connection)[0] for connection in connections] == [200] * 16


def test_probes_and_metrics_are_answered_meanwhile(crowded: Process):
    with one_in_flight(crowded):
        for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
            assert crowded.get(path).status_code == 200


def test_what_is_refused_is_counted(crowded: Process):
    sample = 'toolscout_shed_total{reason="in_flight"}'
    before = crowded.metric(sample)
    with one_in_flight(crowded):
        for _ in range(3):
            crowded.post(BODY)
    assert crowded.metric(sample) == before + 3


def test_parallel_requests_get_200_or_503(crowded: Process):
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(crowded.post, BODY, SEARCH) for _ in range(200)]
        responses = [ask.result() for ask in asked]
    assert {response.status_code for response in responses} <= {200, 503}
    assert 200 in {response.status_code for response in responses}
    assert all("retry-after" in r.headers for r in responses if r.status_code == 503)
    assert crowded.post(BODY).status_code == 200
    assert crowded.metric(IN_FLIGHT) == 0


def test_one_late_turn_of_the_event_loop_is_no_overload():
    admission = Admission(max_in_flight=256, max_lag_ms=400)
    admission.note_lateness(1.5)
    assert isinstance(admission.enter("acme"), AdmissionSlot)
    admission.note_lateness(0.5)
    assert admission.enter("acme") == "loop_lag"
    for _ in range(PROBES):
        admission.note_lateness(0.01)
    assert isinstance(admission.enter("acme"), AdmissionSlot)


def test_unknown_tools_that_many_others_wait_to_have_read_are_refused():
    admission, costs = Admission(max_in_flight=256, max_lag_ms=400), Costs()
    with ExitStack() as waiting:
        for _ in range(ALWAYS_ADMITTED):  # however long it takes
            waiting.enter_context(admission.count_unknown("acme", 1_000_000, costs, left_ms=1))
        with pytest.raises(Overloaded), admission.count_unknown("acme", 1, costs, left_ms=148):
            pass
    with admission.count_unknown("acme", 1_000_000, costs, left_ms=1):
        pass


def test_lists_that_wait_to_be_compiled_take_bounded_memory(tmp_path: Path):
    """Past the bound they are answered by words, and compiled when somebody asks once more."""
    with running(tmp_path, "--cache-bytes", str(2**20)) as server:

        def ask(number: int) -> tuple[int, str]:
            tools = crowd(100, f"widget{number}")
            response = server.search("spin a widget", tools, latency_budget_ms=60)
            return response.status_code, response.headers.get("x-tool-selection", "")

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(ask, range(64)))
        assert {status for status, _ in answers} <= {200, 503}
        assert any("degraded=keyword" in selection for _, selection in answers)
        until(lambda: server.metric("toolscout_compiles_in_progress") == 0)
        until(lambda: "degraded=no" in ask(7)[1])
