"""Too many requests at once: some get 503 with Retry-After, none get anything worse."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tests.support import (
    GATEWAY,
    SEARCH,
    TOOLS,
    Server,
    problem_of,
    raw_request,
    read_response,
    until,
)

BODY = json.dumps({"pattern": "read a file", "top_k": 1, "tools": TOOLS[:3]}).encode()
IN_FLIGHT = "toolscout_inflight_requests"


@contextmanager
def one_in_flight(server: Server) -> Iterator[None]:
    """A request whose headers have arrived and whose body comes at the end."""
    with server.connect() as connection:
        request = raw_request(BODY)
        connection.sendall(request[: -len(BODY)])
        until(lambda: server.metric(IN_FLIGHT) == 1)
        yield
        connection.sendall(BODY)
        status, _, answer = read_response(connection)
        assert status == 200, answer
        assert json.loads(answer) == {"selected_names": ["read_file"]}


def test_a_request_counts_from_its_headers_on(crowded: Server):
    with one_in_flight(crowded):
        response = crowded.post(BODY)
        problem_of(response, 503, "overloaded")
        assert int(response.headers["retry-after"]) >= 1
        assert response.headers["connection"] == "close"
    assert crowded.post(BODY).status_code == 200


def test_the_newer_path_is_refused_in_its_own_way(crowded: Server):
    with one_in_flight(crowded):
        assert problem_of(crowded.post(BODY, GATEWAY), 503, "overloaded")["success"] is False


def test_probes_and_metrics_are_answered_meanwhile(crowded: Server):
    with one_in_flight(crowded):
        for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
            assert crowded.get(path).status_code == 200


def test_what_is_refused_is_counted(crowded: Server):
    sample = 'toolscout_shed_total{reason="in_flight"}'
    before = crowded.metric(sample)
    with one_in_flight(crowded):
        for _ in range(3):
            crowded.post(BODY)
    assert crowded.metric(sample) == before + 3


def test_parallel_requests_get_200_or_503(crowded: Server):
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(crowded.post, BODY, SEARCH) for _ in range(200)]
        responses = [ask.result() for ask in asked]
    assert {response.status_code for response in responses} <= {200, 503}
    assert 200 in {response.status_code for response in responses}
    assert all("retry-after" in r.headers for r in responses if r.status_code == 503)
    assert crowded.post(BODY).status_code == 200
    assert crowded.metric(IN_FLIGHT) == 0
