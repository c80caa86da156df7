"""What an agent has at hand before its model runs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import TOOLS, Server, crowd, until
from toolscout.server.calls.hot import fill

HOT = "/v1/tool-discovery/hot"
LONG = {
    "name": "long_winded",
    "description": "Talk about the weather. " + "word " * 3_000,
    "definition": {"input_schema": {"properties": {"topic": {"description": "talk " * 3_000}}}},
}


def hot(server: Server, message: str | None = "read a text file", **fields: Any) -> Any:
    body = {"message": message, **fields}
    if "catalog" not in fields:
        body.setdefault("tools", TOOLS)
    response = server.post(body, HOT)
    assert response.status_code == 200, response.text
    return response.json()


def names(tier: list[dict[str, Any]]) -> list[str]:
    return [tool["name"] for tool in tier]


def test_named_tools_come_whole_and_fitting_ones_in_brief(server: Server):
    body = hot(server, tier0=["send_email", "never_there", "send_email"])
    tiers = body["tiers"]
    assert names(tiers["tier0"]) == ["send_email"]
    assert "description" in tiers["tier0"][0]
    assert tiers["tier1"][0]["name"] == "read_file"
    assert "description" not in tiers["tier1"][0]
    shown = len(tiers["tier0"]) + len(tiers["tier1"])
    assert tiers["deferred_count"] == len(TOOLS) - shown


def test_what_does_not_fit_whole_is_shown_in_brief_and_does_not_stop_what_follows(server: Server):
    tools = [LONG, *TOOLS]
    tiers = hot(server, tools=tools, tier0=["long_winded", "send_email"])["tiers"]
    assert names(tiers["tier0"]) == ["long_winded", "send_email"]
    assert "input_schema" not in tiers["tier0"][0]


@pytest.mark.parametrize("budget", [0, 50, 400, 3_800])
def test_tiers_stay_within_their_shares(server: Server, budget: int):
    tools = [*TOOLS, *crowd(60)]
    everything = [tool["name"] for tool in tools]
    body = hot(server, "spin the gadget", tools=tools, tier0=everything, token_budget=budget)
    tokens = body["tokens"]
    assert tokens["tier0"] <= budget * 1_200 / 3_800
    assert tokens["tier1"] <= budget * 1_800 / 3_800
    assert tokens["total"] == tokens["tier0"] + tokens["tier1"] <= budget == tokens["budget"]


@pytest.mark.parametrize("message", [None, "", " "])
def test_without_a_message_the_surroundings_speak(server: Server, message: str | None):
    tiers = hot(server, message, context={"signals": ["weather", "forecast"]})["tiers"]
    assert tiers["tier1"][0]["name"] == "get_weather"


def test_without_a_message_the_core_tools_are_shown(server: Server):
    served = [{"name": f"mcp__crm__{name}", "description": name} for name in ("find", "list")]
    other = [{"name": "mcp__wiki__read", "description": "Read"}]
    own = [{"name": "erase_disk", "description": "x"}, {"name": "list_files", "description": "x"}]
    tiers = hot(server, None, tools=[*served, *other, *own])["tiers"]
    assert (
        names(tiers["tier1"])
        == "list_files erase_disk mcp__crm__find mcp__wiki__read mcp__crm__list".split()
    )
    assert len(hot(server, None, tools=crowd(60))["tiers"]["tier1"]) == 10
    safe = hot(server, None, tools=own, filters={"max_risk": "read_only"})["tiers"]
    assert names(safe["tier1"]) == ["list_files"]


def test_core_tools_are_shown_where_surroundings_and_session_find_nothing(server: Server):
    own = [{"name": "erase_disk", "description": "x"}, {"name": "list_files", "description": "x"}]
    around = hot(server, None, tools=own, context={"files": ["zxqv.wvut"]})["tiers"]
    assert names(around["tier1"]) == ["list_files", "erase_disk"]
    session = {"recent": [{"name": "erase_disk", "successes": 2}]}
    filters = {"max_risk": "read_only"}
    served = hot(server, None, tools=own, session=session, filters=filters)["tiers"]
    assert names(served["tier1"]) == ["list_files"]


def test_filters_hold_in_both_tiers(server: Server):
    fields = {"tier0": ["send_email"], "filters": {"exclude": ["send_email", "read_file"]}}
    tiers = hot(server, **fields)["tiers"]
    assert not {"send_email", "read_file"} & {*names(tiers["tier0"]), *names(tiers["tier1"])}


def test_a_digest_stands_for_tools(server: Server):
    digest = server.search(tools=TOOLS).headers["x-catalog-digest"]
    assert hot(server, catalog=digest) == hot(server)


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(0, 100))
def test_a_tier_never_costs_more_than_its_budget_and_leaves_no_room_for_what_was_passed_over(
    prices: list[int], budget: int
):
    taken, spent = fill(range(len(prices)), budget, prices.__getitem__)
    assert spent == sum(prices[row] for row, _ in taken) <= budget
    passed_over = set(range(len(prices))) - {row for row, _ in taken}
    assert all(prices[row] > budget - spent for row in passed_over)


def test_an_answer_by_words_alone_says_so(server: Server):
    """The first answer to a new list may come before its vectors are made."""
    before = server.metric('toolscout_degraded_total{ranker="bm25"}')
    body = {"message": "spin a gadget", "tools": crowd(400, "flywheel")}
    first = server.post(body, "/v1/tool-discovery/hot").json()
    assert first["degraded"] == "bm25"
    assert server.metric('toolscout_degraded_total{ranker="bm25"}') == before + 1

    def is_whole() -> bool:
        return "degraded" not in server.post(body, "/v1/tool-discovery/hot").json()

    until(is_whole)
