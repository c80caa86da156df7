"""`session` and `context`: soft, bounded influences on scores that are there already."""

from typing import Any

import pytest

from tests.support import Server

TWINS: list[dict[str, Any]] = [
    {"name": "forward_note", "description": "Forwards a note to a colleague"},
    {"name": "forward_notice", "description": "Forwards a note to a colleague"},
    {"name": "paint_wall", "description": "Paints a wall in a colour"},
]
QUERY = "forwards a note to a colleague"
RANKERS = ["auto", "regex", "bm25", "semantic", "hybrid", "rrf", "okapi"]
WORK: list[dict[str, Any]] = [
    {"name": "send_it", "description": "Send it out", "domain": "infra"},
    {"name": "send_that", "description": "Send it out", "domain": "comms"},
    {"name": "send_this", "description": "Send it out"},
]


def ranked(server: Server, *recent: dict[str, Any], tools: Any = TWINS, **fields: Any) -> list[str]:
    fields = {"pattern": QUERY, "session": {"recent": recent}, **fields}
    return server.names(tools=tools, **fields)


def boosts(server: Server, name: str, pattern: str = QUERY, tools: Any = TWINS, **fields: Any):
    """Return the signed changes of one tool's score by their reason, and the score."""
    body = server.search(pattern, tools, explain=True, **fields).json()
    match = next(match for match in body["matches"] if match["name"] == name)
    found = {
        (reason["field"], reason["term"]): reason["weight"]
        for reason in match["reasons"]
        if reason["via"] == "boost"
    }
    return found, match["score"]


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("used", ["forward_note", "forward_notice"])
def test_of_two_alike_the_one_that_served_goes_first(server: Server, ranker: str, used: str):
    use = {"name": used, "successes": 2, "failures": 0, "turns_ago": 0}
    assert ranked(server, use, ranker=ranker)[0] == used


@pytest.mark.parametrize("failed", ["forward_note", "forward_notice"])
def test_of_two_alike_the_one_that_failed_goes_last(server: Server, failed: str):
    assert ranked(server, {"name": failed, "failures": 1})[0] != failed


def test_the_sum_of_all_is_bounded(server: Server):
    recent = [{"name": "forward_note", "successes": 10_000}] * 20
    session = {"recent": recent, "expanded": ["forward_note"] * 50}
    found, score = boosts(server, "forward_note", session=session)
    assert sum(found.values()) <= 0.5 + 1e-3
    plain = boosts(server, "forward_note")[1]
    assert plain < score <= min(1.0, 1.5 * plain + 1e-3)
    failing = {"recent": [{"name": "forward_note", "failures": 10_000}] * 20}
    assert boosts(server, "forward_note", session=failing)[1] >= 0.5 * plain - 1e-3


def test_every_part_wears_off(server: Server):
    def changes(turns: int) -> list[float]:
        use = {"name": "forward_note", "successes": 3, "failures": 1, "turns_ago": turns}
        later = [f"paint_wall{n}" for n in range(turns)]
        tools = [*TWINS, *({"name": name} for name in later)]
        session = {"recent": [use], "expanded": ["forward_note", *later]}
        found, _ = boosts(server, "forward_note", tools=tools, session=session)
        return [abs(change) for change in found.values()]

    fresh, old, ancient = changes(0), changes(3), changes(30)
    assert len(fresh) == len(old) == 3
    assert all(new > before for new, before in zip(fresh, old, strict=True))
    assert all(change < 0.001 for change in ancient)


@pytest.mark.parametrize("ranker", RANKERS)
def test_use_makes_no_match_of_what_is_none(server: Server, ranker: str):
    use = {"name": "paint_wall", "successes": 100}
    fields = {"ranker": ranker, "session": {"recent": [use], "expanded": ["paint_wall"]}}
    assert server.search("zxqv wvut", TWINS, **fields).json() == {"selected_names": []}


def test_an_exact_name_goes_before_what_served(server: Server):
    use = {"name": "forward_notice", "successes": 100}
    assert ranked(server, use, pattern="forward_note")[0] == "forward_note"


def test_names_that_are_not_there_and_uses_of_nothing_change_nothing(server: Server):
    nothing = [{"name": "elsewhere", "successes": 5}, {"name": "forward_notice"}]
    assert ranked(server, *nothing) == ranked(server)
    nulls = {"name": "forward_notice", "successes": None, "failures": None, "turns_ago": None}
    assert ranked(server, nulls) == ranked(server)
    for session in (None, {}, {"id": "s-1", "recent": None, "expanded": None}):
        assert server.names(QUERY, TWINS, session=session) == server.names(QUERY, TWINS)


@pytest.mark.parametrize(
    ("context", "first", "lowered"),
    [
        ({"files": ["Dockerfile", "Chart.yaml"]}, "send_it", "send_that"),
        ({"signals": ["slack channel"]}, "send_that", "send_it"),
    ],
)
def test_surroundings_lower_tools_of_other_domains(
    server: Server, context: dict[str, Any], first: str, lowered: str
):
    # Of tools whose names have one form and whose texts are equal, any rank alike.
    names = server.names("send out", WORK, ranker="bm25", context=context)
    assert names[-1] == lowered
    assert first in names
    found, score = boosts(server, lowered, "send out", WORK, ranker="bm25", context=context)
    ((field, _), change), plain = (
        found.popitem(),
        boosts(server, lowered, "send out", WORK, ranker="bm25"),
    )
    assert field == "domain"
    assert -0.5 <= change < 0
    assert score == pytest.approx(plain[1] * (1 + change), abs=1e-3)
    for other in {"send_it", "send_that", "send_this"} - {lowered}:
        assert boosts(server, other, "send out", WORK, ranker="bm25", context=context)[0] == {}


@pytest.mark.parametrize(
    "context",
    [
        None,
        {},
        {"files": ["Dockerfile2"], "signals": ["kubernetes"]},
        {"signals": ["pr", "improve"]},
    ],
)
def test_too_few_signals_change_nothing(server: Server, context: Any):
    plain = server.search("send out", WORK, explain=True).json()["matches"]
    assert server.search("send out", WORK, explain=True, context=context).json()["matches"] == plain
