"""Failures that users reported of tool search elsewhere, as requests of the shared data."""

from pathlib import Path
from typing import Any

import pytest

from tests.reported import FIRST, SECOND, reported_cases
from tests.support import Server

RESOLVE = "/v1/tool-discovery/resolve"

DECLINED = {"zh-weekly-noun", "first-line-open"}
"""Cases that docs/decisions/reported-failures.md declines."""


def is_right(names: list[str], right: dict[str, Any]) -> bool:
    """Whether an answer is what a case calls right."""
    if "any_of" in right:
        return any(is_right(names, one) for one in right["any_of"])
    if right.get("empty"):
        return names == []
    among, without = right.get("among", []), right.get("not", [])
    return {*among} <= {*names[: right.get("top", 5)]} and not {*without} & {*names}


@pytest.mark.parametrize("file", [FIRST, SECOND])
def test_searches_find_what_was_missed_elsewhere(server: Server, data: Path, file: str):
    searches = reported_cases(data, file, "search")
    wrong = {}
    for case in searches:
        answer = server.post(case["input"])
        assert answer.status_code == 200, answer.text
        names = answer.json()["selected_names"]
        first = [case["right"]["first"]] if "first" in case["right"] else names[:1]
        if not is_right(names, case["right"]) or names[:1] != first:
            wrong[case["id"]] = names
    assert wrong.keys() == DECLINED & {case["id"] for case in searches}, wrong


def test_names_are_resolved_that_were_unknown_elsewhere(server: Server, data: Path):
    for case in reported_cases(data, FIRST, "resolve"):
        answer = server.post(case["input"], RESOLVE).json()
        (result,) = answer["results"]
        assert case["right"]["suggests"] in result["suggestions"], case["id"]


def test_what_writes_is_not_found_under_read_only(server: Server, data: Path):
    for case in reported_cases(data, SECOND, "risk"):
        sent, right = case["input"], case["right"]
        tool = {"name": sent["name"], "description": sent["description"]}
        asked = {
            "tools": [tool, {"name": "other", "description": "Read something else"}],
            "pattern": sent["name"],
            "filters": {"max_risk": "read_only"},
        }
        names = server.post(asked).json()["selected_names"]
        is_found = sent["name"] in names
        assert is_found == right.get("found_under_read_only", True), case["id"]
