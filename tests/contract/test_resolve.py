"""`resolve`: which tool a written name stands for."""

from typing import Any

import pytest

from tests.contract.test_calls import RESOLVE
from tests.support import Server, crowd

TOOLS: list[dict[str, Any]] = [
    {"name": "normal_cdf"},
    {"name": "mcp__github__create_issue"},
    {"name": "mcp__jira__create_issue"},
    {"name": "getUser"},
    {"name": "get-user"},
    {"name": "web_search", "definition": {"function": {"name": "exa_lookup"}}},
    {"name": "🔥"},
]


def resolve(server: Server, *names: str, tools: list[dict[str, Any]] = TOOLS) -> list[dict]:
    response = server.post({"names": names, "tools": tools}, RESOLVE)
    assert response.status_code == 200, response.text
    results: list[dict] = response.json()["results"]
    assert [result["query"] for result in results] == list(names)
    return results


@pytest.mark.parametrize(
    ("written", "name", "by"),
    [
        ("normal_cdf", "normal_cdf", "exact"),
        (" normal_cdf\n", "normal_cdf", "exact"),
        ("normalCdf", "normal_cdf", "alias"),
        ("NORMAL-CDF", "normal_cdf", "alias"),
        ("normal cdf", "normal_cdf", "alias"),
        ("stats.normal_cdf", "normal_cdf", "alias"),
        ("mcp__stats__normal_cdf", "normal_cdf", "alias"),
        ("github.create_issue", "mcp__github__create_issue", "alias"),
        ("getUser", "getUser", "exact"),
        ("get-user", "get-user", "exact"),
        ("exa_lookup", "web_search", "alias"),
        ("🔥", "🔥", "exact"),
    ],
)
def test_one_tool_answers_to_a_name(server: Server, written: str, name: str, by: str):
    assert resolve(server, written) == [{"query": written, "name": name, "matched_by": by}]


@pytest.mark.parametrize(
    ("written", "fits"),
    [
        ("create_issue", ["mcp__github__create_issue", "mcp__jira__create_issue"]),
        ("get_user", ["get-user", "getUser"]),
    ],
)
def test_a_name_of_several_tools_is_ambiguous(server: Server, written: str, fits: list[str]):
    assert resolve(server, written) == [{"query": written, "ambiguous": fits}]


@pytest.mark.parametrize(
    ("written", "suggested"),
    [
        ("noraml_cdf", "normal_cdf"),
        ("web_serch", "web_search"),
        ("normal", "normal_cdf"),
        ("crate_isue", "mcp__github__create_issue"),
        ("jira__create_isue", "mcp__jira__create_issue"),
        ("maths.noraml_cdf", "normal_cdf"),
    ],
)
def test_an_unknown_name_brings_similar_ones(server: Server, written: str, suggested: str):
    (result,) = resolve(server, written)
    assert set(result) == {"query", "suggestions"}
    assert result["suggestions"][0] == suggested


@pytest.mark.parametrize("written", ["zzzz", "frobnicate_the_widget", "天気", "🔨", " "])
def test_a_name_that_resembles_nothing_brings_nothing(server: Server, written: str):
    assert resolve(server, written) == [{"query": written}]


def test_suggestions_are_few_and_the_most_similar_first(server: Server):
    tools = [{"name": f"read_file_{letter}"} for letter in "abcdefgh"] + [{"name": "read_file"}]
    (result,) = resolve(server, "read_fil", tools=tools)
    assert len(result["suggestions"]) == 5
    assert result["suggestions"][0] == "read_file"


def test_many_names_over_many_tools(server: Server):
    tools = crowd(300, "tulip")
    names = [f"tulip-{n}-spin" for n in range(100)] + ["nothing_like_it"] * 100
    results = resolve(server, *names, tools=tools)
    assert [result.get("name") for result in results[:100]] == [t["name"] for t in tools[:100]]


def test_no_names_are_no_results(server: Server):
    assert resolve(server) == []
