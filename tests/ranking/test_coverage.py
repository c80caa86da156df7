"""Several wishes in one request: each has its tool among the first."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import crowd, select
from toolscout.contract.requests import Filters
from toolscout.ranking.coverage import MAX_CLAUSES, split_clauses

TOOLS = [
    {"name": "get_weather", "description": "Weather forecast for a city"},
    {"name": "get_weather_alerts", "description": "Warnings of severe weather for a city"},
    {"name": "get_weather_history", "description": "Past weather of a city by date"},
    {"name": "get_air_quality", "description": "Air quality and weather of a city"},
    {"name": "send_email", "description": "Send a mail to a person"},
    {"name": "book_flight", "description": "Reserve a seat on a plane"},
    *crowd(30),
]
WISHES = "What is the weather forecast in the city of Rome and then mail it to Ann"


def test_each_wish_has_its_tool_among_the_first():
    assert set(select(TOOLS, WISHES, top_k=2).names) == {"get_weather", "send_email"}


def test_three_sentences_are_three_wishes():
    request = "Show me the weather in Rome. Reserve a seat on a plane. Then mail it all to Ann."
    names = select(TOOLS, request, top_k=3).names
    assert {"send_email", "book_flight"} < set(names)


@pytest.mark.parametrize(
    ("request_", "parts"),
    [
        ("find the order and then refund all of it", ["find the order", "refund all of it"]),
        ("Check the weather! Book me a table.", ["Check the weather!", "Book me a table."]),
        (
            "I need a hotel in Rome, and also tell me a joke",
            ["I need a hotel in Rome", "tell me a joke"],
        ),
        ("flights from Rome and Paris, for the two of us", []),
        ("upload report.pdf to the drive", []),
        ("such die Rechnung und dann lösche den Kunden", []),
        ("", []),
        ("and then also", []),
    ],
)
def test_clauses_have_verbs_of_their_own(request_: str, parts: list[str]):
    assert split_clauses(request_) == parts


@given(st.text(alphabet="add, list. \n", max_size=200))
def test_clauses_are_parts_of_the_request_in_its_order(text: str):
    place, parts = 0, split_clauses(text)
    assert len(parts) <= MAX_CLAUSES
    for part in parts:
        place = text.index(part, place) + len(part)


def test_clauses_that_want_the_same_tool_are_one_wish():
    twice = "show the weather forecast in Rome and then show me the weather forecast in Paris"
    decision = select(TOOLS, twice, top_k=4)
    scores = [decision.ranking.scores[row] for row in decision.rows]
    assert scores == sorted(scores, reverse=True)


def test_one_wish_keeps_its_order():
    several = select(TOOLS, "weather forecast for a city", top_k=4)
    scores = [several.ranking.scores[row] for row in several.rows]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("top_k", [2, 3, 5, 8, 20])
def test_a_longer_answer_begins_with_the_shorter_one(top_k: int):
    shorter, longer = (select(TOOLS, WISHES, top_k=count).names for count in (top_k, top_k + 1))
    assert longer[:top_k] == shorter


def test_a_tool_that_is_excluded_covers_nothing():
    allowed = Filters(exclude=["send_email"])
    names = select(TOOLS, WISHES, top_k=3, filters=allowed).names
    assert names[0] == "get_weather"
    assert "send_email" not in names
    without = [tool for tool in TOOLS if tool["name"] != "send_email"]
    assert select(without, WISHES, top_k=3).names[0] == "get_weather"


def test_words_that_ask_for_nothing_are_no_wish():
    plain = select(TOOLS, "weather forecast for a city", top_k=4).names
    courteous = "weather forecast for a city. Thank you very much indeed, have a nice day."
    assert select(TOOLS, courteous, top_k=4).names[0] == plain[0]


def test_pins_and_exact_names_hold():
    decision = select(TOOLS, f"{WISHES} with book_flight", top_k=3, always_keep=["get_air_quality"])
    assert "get_air_quality" in decision.names
    assert decision.names[0] == "book_flight"
    assert all(a != b for a, b in pairwise(decision.names))
