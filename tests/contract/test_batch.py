"""`search:batch`: several patterns over one list of tools."""

import json
import re
from typing import Any

import pytest

from tests.contract.test_calls import BATCH
from tests.support import TOOLS, Server, crowd, problem_of, until

PATTERNS = ["read a file", "weather in the city", "zxqv wvut", "create_issue", "^send|mail$"]

SAID = [
    {"role": "user", "content": "what is the weather in the city?"},
    {"role": "assistant", "content": "Rain."},
    {"role": "user", "content": "and the day after?"},
]


def batch(server: Server, patterns: list[Any], **fields: Any) -> list[dict[str, Any]]:
    body = {"patterns": patterns, "tools": TOOLS, "latency_budget_ms": 60_000, **fields}
    response = server.post(body, BATCH)
    assert response.status_code == 200, response.text
    results: list[dict[str, Any]] = response.json()["results"]
    return results


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"top_k": 1},
        {"max_tools": 2, "always_keep": ["get_weather"]},
        {"ranker": "bm25", "min_score": 0.2},
        {"filters": {"exclude": ["read_file"]}},
        {"budget_tokens": 20},
    ],
)
def test_every_pattern_gets_the_answer_of_a_search_in_order(server: Server, fields: dict[str, Any]):
    results = batch(server, PATTERNS, **fields)
    assert [result["pattern"] for result in results] == PATTERNS
    for result in results:
        assert set(result) == {"pattern", "selected_names"}
        alone = server.search(result["pattern"], **fields).json()
        assert result["selected_names"] == alone["selected_names"]


def test_an_entry_may_be_a_conversation(server: Server):
    plain, weather = batch(server, [{"pattern": "read a file"}, {"messages": SAID}], explain=True)
    assert plain["selected_names"] == server.search("read a file").json()["selected_names"]
    body = {"messages": SAID, "tools": TOOLS, "explain": True, "latency_budget_ms": 60_000}
    alone = server.post(body).json()
    assert weather["pattern"] == "and the day after?"
    assert weather["matches"] == alone["matches"]
    assert weather["selected_names"][0] == "get_weather"


def test_a_repeated_pattern_is_answered_twice(server: Server):
    first, second = batch(server, ["read a file", "read a file"])
    assert first == second


def test_results_carry_what_was_asked_for(server: Server):
    (result,) = batch(server, ["forecast"], explain=True, detail="brief", top_k=1)
    assert result["outcome"] == "match"
    assert result["matches"][0]["name"] == result["tools"][0]["name"] == "get_weather"
    assert result["counts"]["unique"] == len(TOOLS)
    assert "rank" in result["timings_ms"]


def test_tools_that_were_never_compiled_are_answered_by_words(server: Server):
    tools = [*crowd(4_000, "spindle"), *TOOLS]
    fields = {"tools": tools, "latency_budget_ms": 1, "explain": True}
    weather, issue = batch(server, ["weather forecast", "create_issue"], **fields)
    assert weather["degraded"] == issue["degraded"] == "keyword"
    assert weather["selected_names"][:1] == ["get_weather"]
    assert issue["selected_names"][:1] == ["create_issue"]


@pytest.mark.parametrize("field", ["messages", "turn"])
def test_what_belongs_to_one_pattern_is_refused_for_all(server: Server, field: str):
    body = {"patterns": ["a"], "tools": TOOLS, field: "a"}
    problem = problem_of(server.post(body, BATCH), 422, "invalid_request")
    assert problem["detail"] == f"{field}: belongs to an entry of `patterns`"
    assert len(batch(server, ["a"], **{field: None})) == 1


def test_as_many_patterns_as_allowed(server: Server):
    assert len(batch(server, [f"read file {n}" for n in range(32)])) == 32


def test_the_phases_of_a_batch_fit_into_its_time(server: Server):
    """Where new tools are answered by words, that is ranking and no part of the compile."""
    body = {"patterns": PATTERNS, "tools": crowd(1_500, "quoin"), "latency_budget_ms": 1}
    response = server.post(body, BATCH, {"x-request-id": "phases-of-a-batch"})
    told = dict(re.findall(r"(\w+);dur=([\d.]+)", response.headers["server-timing"]))
    assert list(told) == ["decode", "compile", "rank", "total"]
    total = float(told.pop("total"))
    until(lambda: "phases-of-a-batch" in server.stdout)
    (line,) = (line for line in server.stdout.splitlines() if "phases-of-a-batch" in line)
    assert sum(map(float, told.values())) <= total <= json.loads(line)["total_ms"]
