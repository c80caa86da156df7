"""The headers of an answer."""

import re

import pytest

from tests.conftest import ACME_OLD
from tests.support import SEARCH, TOOLS, Server, crowd


def test_selection_header(server: Server):
    response = server.search("read a text file", TOOLS + TOOLS, top_k=3)
    count = len(response.json()["selected_names"])
    assert re.fullmatch(
        rf"{len(TOOLS)}->{count}; ranker=hybrid; cache=(hit|miss); outcome=match; degraded=no",
        response.headers["x-tool-selection"],
    )


def test_server_timing_names_the_phases(server: Server):
    tools = crowd(4, "bobbin")
    cold = server.search(tools=tools).headers["server-timing"]
    warm = server.search(tools=tools).headers["server-timing"]
    metric = r"(\w+);dur=\d+(?:\.\d+)?"
    assert re.fullmatch(f"{metric}(, {metric})*", cold)
    assert re.findall(metric, cold) == ["decode", "compile", "rank", "total"]
    assert re.findall(metric, warm) == ["decode", "rank", "total"]


def test_tenants_that_share_a_process_are_told_whole_milliseconds(keyed: Server, server: Server):
    fine = r"decode;dur=\d+\.\d*[1-9]\d*"
    headers = {"x-api-key": ACME_OLD}
    for _ in range(5):
        shared = keyed.search(explain=True, headers=headers)
        assert not re.search(fine, shared.headers["server-timing"])
        assert all(spent == int(spent) for spent in shared.json()["timings_ms"].values())
    phases = keyed.get("/v1/stats", **headers).json()["latency_ms"]["hybrid"].values()
    assert all(phase[name] == int(phase[name]) for phase in phases for name in ("p50", "p99"))
    assert any(re.search(fine, server.search().headers["server-timing"]) for _ in range(5))


def test_request_id_is_echoed(server: Server):
    assert server.search(headers={"x-request-id": "abc-123"}).headers["x-request-id"] == "abc-123"


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/v1/stats"]
)
def test_every_answer_carries_a_request_id(server: Server, path: str):
    assert server.get(path, **{"x-request-id": "abc-123"}).headers["x-request-id"] == "abc-123"
    assert server.get(path).headers["x-request-id"]


def test_request_ids_are_made_when_absent(server: Server):
    made = {server.search().headers["x-request-id"] for _ in range(5)}
    assert len(made) == 5
    assert all(made)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", SEARCH), ("POST", "/healthz"), ("GET", "/nothing"), ("POST", "/nothing")],
)
def test_every_error_carries_a_request_id(server: Server, method: str, path: str):
    given = server.client.request(method, path, headers={"x-request-id": "my-id"})
    assert given.headers["x-request-id"] == given.json()["request_id"] == "my-id"
    made = server.client.request(method, path)
    assert made.headers["x-request-id"] == made.json()["request_id"] != ""


def test_long_request_ids_are_cut(server: Server):
    response = server.search(headers={"x-request-id": "i" * 3_000})
    assert len(response.headers["x-request-id"]) <= 128
