"""A good hit that requires an identifier brings the tool that finds it."""

from itertools import pairwise
from typing import Any

import pytest

from tests.support import ENGINE, Process, compiled, select
from toolscout.contract.answers import Via
from toolscout.contract.requests import Filters
from toolscout.index.prerequisites import find_needed_noun
from toolscout.ranking.ask import Ask
from toolscout.ranking.choose import Chain
from toolscout.ranking.explain import explain
from toolscout.ranking.pipeline import decide


def tool(name: str, about: str, *required: str) -> dict[str, Any]:
    properties = {parameter: {"type": "string"} for parameter in required}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": about, "parameters": schema}


BILL = tool("create_invoice", "Write an invoice", "customer_id", "amount")
FIND = tool("search_customers", "Look people up in the directory", "text")
FILLER = [tool(f"spin_{n}", f"Write a note about invoice layout {n}") for n in range(8)]
TOOLS = [BILL, FIND, *FILLER]
QUERY = "write an invoice over forty euros"


@pytest.mark.parametrize(
    ("parameter", "noun"),
    [
        ("customer_id", "custom"),
        ("customerIds", "custom"),
        ("meetingRoomID", "room"),
        ("user.uuid", "user"),
        ("token", "token"),
        ("id", None),
        ("amount", None),
        ("identity", None),
        ("", None),
        ("顧客_id", "顧客"),
    ],
)
def test_a_parameter_that_identifies_something_has_its_noun(parameter: str, noun: str | None):
    assert find_needed_noun(parameter) == noun


def test_the_tool_that_finds_an_identifier_comes_with_the_one_that_requires_it():
    decision = select(TOOLS, QUERY, top_k=3)
    assert decision.names[0] == "create_invoice"
    assert decision.names[2] == "search_customers"
    (found,) = [match for match in explain(decision) if match.name == "search_customers"]
    (reason,) = [reason for reason in found.reasons if reason.via is Via.PREREQUISITE]
    assert (reason.field, reason.term) == ("parameters", "create_invoice")


@pytest.mark.parametrize(
    "changed",
    [
        {"prerequisites": False},
        {"ranker": "bm25"},
        {"ranker": "semantic"},
        {"filters": Filters(exclude=("search_customers",))},
        {"top_k": 2},
        {"pattern": "write an invoice for customer A-1723"},
        {"pattern": "write an invoice for the customer with number 88123"},
        {"pattern": "zxqv wvut"},
    ],
)
def test_it_stays_away_where_it_is_not_wanted(changed: dict[str, Any]):
    fields = {"pattern": QUERY, "top_k": 3} | changed
    decision = select(TOOLS, fields.pop("pattern"), **fields)
    brought = [decision.ranking.source.names[row] for row in decision.ranking.prerequisites]
    assert not brought or "search_customers" not in decision.names


@pytest.mark.parametrize(
    "other",
    [
        tool("delete_customer", "Look people up in the directory"),
        tool("get_customer_orders", "Look people up in the directory", "customer_id"),
        tool("list_people", "Look people up in the directory"),
    ],
)
def test_only_what_reads_and_needs_nothing_of_the_kind_is_brought(other: dict[str, Any]):
    assert other["name"] not in select([BILL, other, *FILLER], QUERY, top_k=3).names


def test_a_namespace_that_is_called_like_the_noun_makes_no_finder():
    bill = tool("close_issue", "Close an issue", "issue_id")
    others = [{**tool(name, "Look it up"), "namespace": "issue"} for name in ("get_a", "list_b")]
    catalog = compiled([bill, *others])
    assert catalog.providers(catalog.rows["close_issue"]) == []


@pytest.mark.parametrize("others", [[], [tool(f"spin_{n}", "Spin it") for n in range(90)]])
def test_what_most_tools_of_a_server_require_is_no_prerequisite(others: list[dict[str, Any]]):
    chat = [
        tool(f"chat.{verb}{what}", f"{verb} a {what}", "token", "channel")
        for verb in ("send", "delete")
        for what in ("Note", "Picture", "Reply")
    ]
    names = select([*chat, tool("oauth.token", "Exchange a code"), *others], "send a note").names
    assert names[0] == "chat.sendNote"
    assert "oauth.token" not in names


def test_of_every_three_slots_one_at_most_is_given_away():
    bills = [
        tool(f"create_{kind}_invoice", f"Write a {kind} invoice", f"{kind}_id")
        for kind in ("rental", "repair", "travel")
    ]
    finders = [tool(f"get_{kind}", "Look it up") for kind in ("rental", "repair", "travel")]
    names = select([*bills, *finders, *FILLER], "write an invoice", top_k=9).names
    brought = [place for place, name in enumerate(names) if name.startswith("get_")]
    assert brought
    assert all(place >= 3 * number + 2 for number, place in enumerate(brought))


def test_pins_and_names_keep_their_places():
    pinned = select(TOOLS, QUERY, top_k=3, always_keep=("spin_3",))
    assert "spin_3" in pinned.names
    named = select(TOOLS, "search_customers and spin_5", top_k=3).names
    assert set(named[:2]) == {"search_customers", "spin_5"}


def test_a_learned_chain_goes_first():
    catalog = compiled(TOOLS)
    chain = Chain(("create_invoice", "spin_7"), 0.9, 1.0)
    ask = Ask(pattern=QUERY, top_k=3)
    decision = decide(catalog, ask, ENGINE.embedder, chain=chain)
    assert "search_customers" not in decision.names


def test_a_longer_answer_begins_with_the_shorter_one():
    names = [select(TOOLS, QUERY, top_k=top_k).names for top_k in range(1, 9)]
    for shorter, longer in pairwise(names):
        assert longer[: len(shorter)] == shorter


def test_a_request_turns_it_off(server: Process):
    assert server.names(QUERY, TOOLS, top_k=3)[2] == "search_customers"
    assert "search_customers" not in server.names(QUERY, TOOLS, top_k=3, prerequisites=False)
    told = server.search(QUERY, TOOLS, top_k=3, explain=True).json()
    assert told["matches"][2]["reasons"][0]["via"] in ("prerequisite", "semantic")
