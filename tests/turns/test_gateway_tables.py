"""The local strategies compute what the proxy's own functions compute."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolscout.discovery.local import filter_tools, keyword_search, regex_search
from toolscout.discovery.session import hashed


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
        assert (hashed(users[0]) if users else "") == row["session_id"], row
