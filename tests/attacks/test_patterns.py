"""Patterns that cost much: answered by words within the budget, and nobody else waits."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.stalls import LIMIT_UNITS, least_stall
from tests.support import Process, until

pytestmark = [pytest.mark.integration, pytest.mark.alone]

COUNTED = "zq|(.{0,1000}~)"
ALTERNATIVES = "|".join(f".*{chr(97 + n % 26)}.*{chr(97 + n // 26)}#~" for n in range(260))
STATES = "zq|([a-m ].{30}~)"
"""Within every bound, and still too much for RE2's automaton: the slow way through the text."""

BATCH = "/v1/tool-discovery/search:batch"
HOT = "/v1/tool-discovery/hot"


def catalog(data: Path, size: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((data / "catalogs" / f"{size}.json").read_text())
    return found


def known(server: Process, tools: list[dict[str, Any]]) -> str:
    """Have a list compiled; returns its digest."""
    digest: str = server.search("x", tools).headers["x-catalog-digest"]
    until(lambda: server.search("x", catalog=digest).status_code == 200)
    return digest


def test_what_is_too_costly_is_said_everywhere(server: Process):
    before = server.metric('toolscout_patterns_total{result="too_costly"}')
    answer = server.search(f"read {COUNTED}", explain=True)
    body = answer.json()
    assert body["degraded"] == "keyword"
    assert body["ranker"] == "keyword"
    assert "too costly" in body["notes"][0]
    assert body["selected_names"][0] == "read_file"
    assert "degraded=keyword" in answer.headers["x-tool-selection"]
    assert server.metric('toolscout_patterns_total{result="too_costly"}') == before + 1


def test_a_slow_pattern_is_given_up_with_its_budget_and_remembered(server: Process):
    tools = [
        {"name": f"tool_{n}", "description": f"{n} " + "abcdefghijklm " * 500} for n in range(300)
    ]
    body = {"pattern": STATES, "catalog": known(server, tools), "latency_budget_ms": 1}
    first = server.post(body)
    assert "degraded=keyword" in first.headers["x-tool-selection"]
    again = server.post(body)
    assert "degraded=keyword" in again.headers["x-tool-selection"]

    def ordinary() -> str:
        answer = server.search("tool_7.*", catalog=body["catalog"])
        return answer.headers["x-tool-selection"]

    until(lambda: "ranker=regex" in ordinary())


def stays_within_the_budget(server: Process, body: dict, path: str) -> None:
    answers = []

    def attack() -> None:
        answers.append(server.post(body, path))

    seen = least_stall(server, attack)
    assert {answer.status_code for answer in answers} == {200}
    assert seen.stall_units <= LIMIT_UNITS


def test_a_batch_pays_for_all_of_its_patterns(server: Process, data: Path):
    digest = known(server, catalog(data, 1_000))
    patterns = [f"{n}zq|([a-m ].{{30}}~)" for n in range(32)]
    stays_within_the_budget(server, {"patterns": patterns, "catalog": digest}, BATCH)


def test_a_message_is_no_way_around_it(server: Process, data: Path):
    digest = known(server, catalog(data, 300))
    stays_within_the_budget(server, {"message": ALTERNATIVES, "catalog": digest}, HOT)
