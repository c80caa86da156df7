"""Failures that users reported of tool search elsewhere, as requests of the shared data."""

import json
from pathlib import Path
from typing import Any

from tests.support import Server

RESOLVE = "/v1/tool-discovery/resolve"

DECLINED = {"zh-weekly-noun"}
"""Cases that docs/decisions/reported-failures.md declines."""


def cases(data: Path, kind: str) -> list[dict[str, Any]]:
    found: dict[str, Any] = json.loads((data / "cases" / "field.json").read_bytes())
    return [case for case in found["cases"] if case["kind"] == kind]


def is_right(names: list[str], right: dict[str, Any]) -> bool:
    """Whether an answer is what a case calls right."""
    if "any_of" in right:
        return any(is_right(names, one) for one in right["any_of"])
    if right.get("empty"):
        return names == []
    among, without = right.get("among", []), right.get("not", [])
    return {*among} <= {*names[: right.get("top", 5)]} and not {*without} & {*names}


def test_searches_find_what_was_missed_elsewhere(server: Server, data: Path):
    searches = cases(data, "search")
    wrong = {}
    for case in searches:
        answer = server.post(case["input"])
        assert answer.status_code == 200, answer.text
        names = answer.json()["selected_names"]
        if not is_right(names, case["right"]):
            wrong[case["id"]] = names
    assert wrong.keys() == DECLINED & {case["id"] for case in searches}, wrong


def test_names_are_resolved_that_were_unknown_elsewhere(server: Server, data: Path):
    for case in cases(data, "resolve"):
        answer = server.post(case["input"], RESOLVE).json()
        (result,) = answer["results"]
        assert case["right"]["suggests"] in result["suggestions"], case["id"]
