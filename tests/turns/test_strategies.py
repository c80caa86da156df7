"""The local strategies: as the proxy computes them, and where they do better."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscout.turns.local import filter_tools, keyword_search, regex_search, search
from toolscout.turns.session import hash_conversation

TOOLS: list[dict[str, Any]] = [
    {"name": "update_address", "description": "Improve an address"},
    {"name": "add", "description": "Sum of two numbers"},
    {"name": "pr", "description": "Open a pull request"},
    {
        "name": "copy",
        "description": "Copy a file",
        "input_schema": {"properties": {"source": {}, "target": {"description": "new place"}}},
    },
]


def test_an_invalid_pattern_keeps_the_pins():
    assert regex_search("[add", TOOLS, ["copy"]) == ["add", "copy"]


def test_a_keyword_is_a_whole_word():
    assert keyword_search("add", TOOLS) == ["add"]
    assert keyword_search("the pr", TOOLS) == ["pr"]


def test_a_pattern_may_span_properties():
    assert regex_search("source.*target.*new place", TOOLS) == ["copy"]


def test_a_search_is_cut_by_relevance():
    assert len(search(".", TOOLS, 2)) == 2
    assert search("address|improve|sum", TOOLS, 1) == ["update_address"]
    assert search("zxqv", TOOLS, 1) == []


def test_a_pattern_that_would_ruin_a_backtracking_engine_is_answered():
    assert regex_search("(a+)+$" * 50, [{"name": "x", "description": "a" * 20_000 + "!"}]) == []


@given(st.text(max_size=40), st.integers(-1, 6))
def test_no_pattern_breaks_a_search(pattern, cap):
    found = search(pattern, TOOLS, cap)
    assert len(found) <= (cap if cap >= 1 else 5)
    assert len(set(found)) == len(found)
    assert set(found) <= {tool["name"] for tool in TOOLS}


@given(st.text(max_size=40), st.integers(1, 5), st.integers(1, 5), st.floats(0.1, 1))
def test_filtering_loses_no_tool(query, low, high, ratio):
    kept, deferred = filter_tools(query, TOOLS, min_tools=low, max_tools=high, target_ratio=ratio)
    assert sorted([*kept, *deferred]) == sorted(tool["name"] for tool in TOOLS)


# The local strategies compute what the proxy's own functions compute.


@pytest.fixture(scope="module")
def tables(data: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((data / "cases/gateway-algorithms.json").read_text())
    return found


def test_filtering(tables):
    for row in tables["relevance"]["filter_v042"]:
        tools = [{"name": tool["Name"], "description": tool["Desc"]} for tool in row["tools"]]
        kept, deferred = filter_tools(
            row["query"],
            tools,
            min_tools=row["min_tools"],
            max_tools=row["max_tools"],
            target_ratio=row["target_ratio"],
            always_keep=row["always_keep"] or (),
            recent=row["recently_used"] or (),
            expanded=row["expanded"] or (),
        )
        assert kept == row["kept_in_score_order"], row
        assert deferred == row["deferred_in_score_order"], row


def test_regular_expressions(tables):
    tools = tables["search"]["tools"]
    for row in tables["search"]["regex_v042"]:
        found = regex_search(row["pattern"], tools, row["always_keep"] or (), row["max_results"])
        assert found == row["matches_in_request_order"], row


def test_keywords(tables):
    tools = tables["search"]["tools"]
    for row in tables["search"]["keyword_fallback"]:
        assert keyword_search(row["query"], tools, row["max_results"]) == row["names"], row


def test_session_ids(tables):
    for row in tables["search"]["session_id"]:
        messages = json.loads(row["request_body"]).get("messages") or []
        users = [message for message in messages if message.get("role") == "user"]
        assert (hash_conversation(users[0]) if users else "") == row["session_id"], row
