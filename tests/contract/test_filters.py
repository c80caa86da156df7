"""`filters`: what may be selected at all, decided before ranking, in every rung."""

from typing import Any

import pytest

from tests.support import TOOLS, Server, crowd, problem_of

RANKERS = ["auto", "regex", "bm25", "semantic", "hybrid", "rrf", "okapi"]

ISSUES: list[dict[str, Any]] = [
    {
        "name": "mcp__github__create_issue",
        "description": "Create an issue in a git repository",
        "tags": ["Tracker", "write"],
        "source": "mcp",
        "capabilities": ["markdown"],
    },
    {
        "name": "jira.cloud.create_issue",
        "description": "Create an issue in a project",
        "tags": ["tracker"],
        "domain": "Planning",
    },
    {"name": "list_issues", "description": "List the issues of a repository branch"},
    {"name": "delete_issue", "description": "Delete an issue of a git project for good"},
]
ALL = {tool["name"] for tool in ISSUES}


def passing(server: Server, pattern: str = "issue", **fields: Any) -> set[str]:
    return set(server.names(pattern, ISSUES, **fields))


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({"namespaces": ["github"]}, {"mcp__github__create_issue"}),
        ({"namespaces": ["JIRA"]}, {"jira.cloud.create_issue"}),
        ({"namespaces": ["jira.cloud"]}, {"jira.cloud.create_issue"}),
        ({"namespaces": ["cloud"]}, set()),
        ({"domains": ["repo"]}, ALL - {"jira.cloud.create_issue"}),
        ({"domains": ["planning", "nowhere"]}, {"jira.cloud.create_issue"}),
        ({"tags": ["tracker"]}, {"mcp__github__create_issue", "jira.cloud.create_issue"}),
        ({"tags": ["tracker"], "namespaces": ["github"]}, {"mcp__github__create_issue"}),
        ({"sources": ["mcp"]}, {"mcp__github__create_issue"}),
        ({"capabilities": ["markdown"]}, {"mcp__github__create_issue"}),
        ({"capabilities": ["read"]}, {"list_issues"}),
        ({"capabilities": ["write"]}, {"jira.cloud.create_issue", "delete_issue"}),
        ({"capabilities": ["delete"]}, {"delete_issue"}),
        ({"max_risk": "read_only"}, {"list_issues"}),
        ({"max_risk": "write_remote"}, ALL - {"delete_issue"}),
        ({"max_risk": "destructive"}, ALL),
        ({"exclude": ["list_issues", "unknown"]}, ALL - {"list_issues"}),
        ({}, ALL),
        ({"tags": [], "domains": None}, ALL),
        (None, ALL),
    ],
)
def test_only_what_passes_is_selected(
    server: Server, filters: dict[str, Any] | None, left: set[str]
):
    assert passing(server, filters=filters, top_k=9) == left


@pytest.mark.parametrize("ranker", RANKERS)
def test_filters_beat_exact_names_and_pins(server: Server, ranker: str):
    for pattern in ["delete_issue", "delete an issue", "delete.*issue"]:
        for filters in ({"max_risk": "write_remote"}, {"exclude": ["delete_issue"]}):
            fields = {"ranker": ranker, "filters": filters, "always_keep": ["delete_issue"]}
            assert "delete_issue" not in passing(server, pattern, **fields)


def test_a_filter_leaves_its_slots_to_others(server: Server):
    tools = [*crowd(40, "lantern"), *ISSUES]
    filters = {"exclude": [f"lantern_{number}_spin" for number in range(37)]}
    names = server.names("spin lantern", tools, filters=filters, top_k=3)
    assert set(names) == {f"lantern_{number}_spin" for number in (37, 38, 39)}


def test_evidence_of_a_filtered_tool_does_not_count(server: Server):
    filters = {"exclude": ["get_weather"]}
    response = server.search("weather forecast for a city", filters=filters, explain=True)
    assert response.json()["outcome"] != "match"


def test_a_regex_that_only_matches_filtered_tools_is_read_as_words(server: Server):
    fields = {"ranker": "regex", "explain": True, "filters": {"namespaces": ["github"]}}
    matched = server.search("^mcp.*git|^delete.*git", ISSUES, **fields).json()
    assert matched["ranker"] == "regex"
    assert matched["selected_names"] == ["mcp__github__create_issue"]
    read = server.search("^delete.*git", ISSUES, **fields).json()
    assert read["ranker"] == "keyword"
    assert read["selected_names"] == ["mcp__github__create_issue"]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("maxRisk", "did you mean max_risk?"),
        ("namespace", "did you mean namespaces?"),
        ("zzz", "the filters are namespaces, domains"),
        ("x" * 5_000, "the filters are"),
    ],
)
def test_an_unknown_filter_is_refused_with_the_nearest_one(server: Server, key: str, said: str):
    answer = server.search("issue", filters={key: ["read_only"]})
    (error,) = problem_of(answer, 422, "invalid_request")["errors"]
    assert error["path"].startswith(f"filters.{key[:64]}")
    assert said in error["message"]
    batch = {"patterns": ["issue"], "tools": TOOLS, "filters": {key: ["read_only"]}}
    problem_of(server.post(batch, "/v1/tool-discovery/search:batch"), 422, "invalid_request")
    hot = {"message": "issue", "tools": TOOLS, "filters": {key: ["read_only"]}}
    problem_of(server.post(hot, "/v1/tool-discovery/hot"), 422, "invalid_request")


NAMED = [
    {"name": "mcp.k8s.delete", "description": "Delete it"},
    {"name": "acp__s3__put", "description": "Put it"},
    {"name": "toolbus.github.open", "description": "Open it"},
    {"name": "edit", "description": "Change it", "namespace": "fs"},
    {"name": "slackPost", "description": "Say it"},
    {"name": "plan_with_subagent", "description": "Plan it"},
    {"name": "cook", "description": "Cook it"},
]


@pytest.mark.parametrize(
    ("domain", "name"),
    [
        ("infra", "mcp.k8s.delete"),
        ("data", "acp__s3__put"),
        ("repo", "toolbus.github.open"),
        ("code", "edit"),
        ("comms", "slackPost"),
        ("agents", "plan_with_subagent"),
    ],
)
def test_one_telling_word_of_a_name_is_a_domain_for_filters(server: Server, domain: str, name: str):
    found = server.names(name, NAMED, filters={"domains": [domain]}, top_k=9)
    assert found == [name]


def test_a_declared_domain_is_not_widened_by_a_word_of_the_name(server: Server):
    tools = [NAMED[0] | {"domain": "gardening"}]
    assert server.names("mcp.k8s.delete", tools, filters={"domains": ["infra"]}) == []
    assert server.names("mcp.k8s.delete", tools, filters={"domains": ["Gardening"]}) != []


def test_one_word_of_a_name_moves_no_score(server: Server):
    context = {"signals": ["database", "sql"]}
    plain = server.search("delete it", NAMED, explain=True).json()["matches"]
    moved = server.search("delete it", NAMED, context=context, explain=True).json()["matches"]
    assert [m["score"] for m in plain] == [m["score"] for m in moved]


@pytest.mark.parametrize(
    ("source", "name"),
    [("mcp", "mcp.k8s.delete"), ("acp", "acp__s3__put"), ("toolbus", "toolbus.github.open")],
)
def test_a_source_is_inferred_from_the_protocol_in_a_name(server: Server, source: str, name: str):
    assert server.names(name, NAMED, filters={"sources": [source]}, top_k=9) == [name]
