"""The search call: fields, defaults, limits, and the shape of its answer."""

import json
import re
from typing import Any

import pytest

from tests.conftest import ACME_OLD
from tests.support import SEARCH, TOOLS, Server, crowd


def test_answer_is_exactly_the_selected_names(server: Server):
    response = server.post({"pattern": "read a file", "top_k": 1, "tools": TOOLS})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.content == b'{"selected_names":["read_file"]}'


def test_five_names_at_most_unless_told(server: Server):
    tools = crowd(20)
    assert len(server.names("spin the gadget around its axis", tools)) == 5


@pytest.mark.parametrize("top_k", [1, 2, 7])
def test_top_k_caps_the_answer(server: Server, top_k: int):
    assert len(server.names("spin the gadget", crowd(20), top_k=top_k)) == top_k


def test_top_k_may_exceed_the_number_of_tools(server: Server):
    names = server.names("spin the gadget", crowd(3), top_k=1_000_000)
    assert sorted(names) == sorted(tool["name"] for tool in crowd(3))


@pytest.mark.parametrize("pins", [[], ["get_weather"]])
def test_no_tools_no_names(server: Server, pins: list[str]):
    assert server.names("anything", [], always_keep=pins) == []


@pytest.mark.parametrize(
    "field", ["top_k", "max_tools", "query", "always_keep", "ranker", "explain", "catalog"]
)
def test_null_equals_absent(server: Server, field: str):
    assert server.search(**{field: None}).content == server.search().content


def test_null_budget_equals_absent(server: Server):
    body = {"pattern": "read a file", "tools": TOOLS, "latency_budget_ms": None}
    assert server.post(body).status_code == 200


def test_unknown_fields_are_ignored(server: Server):
    plain = server.search()
    odd = server.search(source="gateway", compression_model_name="m", nested={"a": [1, {}]})
    assert odd.content == plain.content


def test_unknown_fields_of_a_tool_are_ignored(server: Server):
    tools = [tool | {"cache_control": {"type": "ephemeral"}, "x": [1, None]} for tool in TOOLS]
    assert server.names(tools=tools) == server.names()


def test_integers_that_went_through_float64_are_read(server: Server):
    definition = {"input_schema": {"properties": {"limit": {"maximum": 1e21, "default": 20.0}}}}
    tools = [*TOOLS, {"name": "page_through", "definition": definition}]
    assert server.names("limit", tools)[0] == "page_through"


def test_whole_numbers_may_be_written_as_floats(server: Server):
    body = json.dumps({"pattern": "spin", "tools": crowd(9), "top_k": 2.0})
    response = server.post(body.encode())
    assert response.status_code == 200, response.text
    assert len(response.json()["selected_names"]) == 2


def test_escaped_angle_brackets_are_text(server: Server):
    body = json.dumps(
        {"pattern": "html tables", "tools": [*TOOLS, {"name": "x1", "description": "HTML <table>"}]}
    )
    escaped = body.replace("<", "\\u003c").replace(">", "\\u003e").encode()
    assert server.post(escaped).json()["selected_names"][0] == "x1"


def test_pattern_is_not_trimmed_by_the_caller(server: Server):
    assert server.names("  \n read a file\t ") == server.names("read a file")


def test_an_answer_leaves_the_connection_open(server: Server):
    response = server.post({"pattern": "x", "tools": []}, path=SEARCH)
    assert response.headers.get("connection", "keep-alive") == "keep-alive"


# `min_score` and `budget_tokens`: limits beside `top_k`, which pins beat.


RANKERS = ["auto", "regex", "bm25", "semantic", "hybrid", "rrf", "okapi"]
PATTERNS = ["read a text file", "weather in the city", "get_weather", "send.*message|^read"]


def sized(name: str, tokens: int) -> dict[str, Any]:
    """Return a tool that is about files and costs so many tokens whole."""
    about = "Reads a file"
    filler = "x" * (4 * tokens - len('{"note": ""}'))
    return {"name": name, "description": about, "definition": {"note": filler}}


@pytest.mark.parametrize("ranker", RANKERS)
def test_a_least_score_leaves_out_what_scores_less(server: Server, ranker: str):
    for pattern in PATTERNS:
        matches = server.search(pattern, ranker=ranker, explain=True).json()["matches"]
        for least in (0.0, 0.05, 0.2, 0.5, 1.0):
            kept = [match["name"] for match in matches if match["score"] >= least]
            assert server.names(pattern, ranker=ranker, min_score=least) == kept


def test_a_budget_is_filled_in_rank_order_and_skips_what_does_not_fit(server: Server):
    tools = [sized("file_a", 100), sized("file_b", 900), sized("file_c", 100), sized("file_d", 100)]
    ranked = server.names("reads a file", tools, ranker="bm25")
    assert ranked == ["file_a", "file_b", "file_c", "file_d"]
    for budget, fit in (
        (99, []),
        (100, ["file_a"]),
        (250, ["file_a", "file_c"]),
        (300, ["file_a", "file_c", "file_d"]),
        (1_000, ["file_a", "file_b"]),
        (5_000, ranked),
    ):
        assert server.names("reads a file", tools, budget_tokens=budget, ranker="bm25") == fit


def test_a_skipped_tool_leaves_its_slot_to_the_next(server: Server):
    tools = [*(sized(f"file_{n:02}", 500) for n in range(20)), sized("file_zz", 50)]
    assert server.names("reads a file", tools, budget_tokens=100, top_k=2) == ["file_zz"]


def test_a_tool_below_the_least_score_costs_nothing(server: Server):
    body = server.search("read a text file", explain=True).json()
    scores = {match["name"]: match["score"] for match in body["matches"]}
    least = max(scores.values())
    names = server.names("read a text file", min_score=least, budget_tokens=1_000)
    assert names == [name for name in body["selected_names"] if scores[name] >= least]


@pytest.mark.parametrize("detail", ["names", "brief", "full", None])
def test_the_budget_is_spent_on_what_is_shown(server: Server, detail: str | None):
    tools = [sized(f"file_{n}", 60 * n) for n in range(1, 8)]
    fields = {"budget_tokens": 130, "detail": detail, "top_k": 7, "explain": True}
    body = server.search("reads a file", tools, **fields).json()
    assert 0 < body["tokens"]["selected"] <= 130
    assert (len(body["selected_names"]) == 7) == (detail in ("names", "brief"))


def test_definitions_are_paid_for_whole(server: Server):
    fields = {"budget_tokens": 130, "detail": "brief", "include_definitions": True}
    tools = [sized("file_1", 60), sized("file_2", 120)]
    assert server.names("reads a file", tools, **fields) == ["file_1"]


def test_null_limits_are_absent_and_numbers_may_be_floats(server: Server):
    plain = server.names("read a file")
    assert server.names("read a file", min_score=None, budget_tokens=None) == plain
    assert server.names("read a file", min_score=0, budget_tokens=10_000.0) == plain


# The headers of an answer.


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
