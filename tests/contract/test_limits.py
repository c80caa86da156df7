"""`min_score` and `budget_tokens`: limits beside `top_k`, which pins beat."""

from typing import Any

import pytest

from tests.support import Server

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
