"""Rollout: from asking nobody to using every answer, in one setting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.upstream import NAMES, TOOLS, Exchange, peer
from toolscout.client import InvalidArgument
from toolscout.client.events import SearchEvent
from toolscout.client.rollout import Rollout


def choose(exchange: Exchange) -> None:
    exchange.select("search_code", "run_tests")


def test_off_keeps_every_tool_and_asks_nobody(make):
    with peer(choose) as fake:
        selection = make(fake.url, rollout="off").select("search code", TOOLS)
        assert fake.requests == []
    assert selection.names == NAMES
    assert selection.rollout == "off"
    assert not selection.fell_open


def test_dark_asks_and_logs_and_keeps_every_tool(make):
    events: list[SearchEvent] = []
    with peer(choose) as fake:
        selector = make(fake.url, rollout="dark", observers=[events.append])
        selection = selector.select("search code", TOOLS)
        assert len(fake.requests) == 1
    assert selection.names == NAMES
    assert not selection.fell_open
    assert selection.chosen == ["search_code", "run_tests"]
    assert selection.overlap is None
    assert events[0].status == "kept"
    assert events[0].selected == ["search_code", "run_tests"]


def test_shadow_says_how_far_the_local_pick_agrees(make):
    events: list[SearchEvent] = []
    with peer(choose) as fake:
        selector = make(fake.url, rollout="shadow", observers=[events.append])
        selection = selector.select("search for code patterns", TOOLS, top_k=2)
    assert selection.names == NAMES
    assert selection.chosen == ["search_code", "run_tests"]
    assert selection.overlap == events[0].overlap == 0.5


@pytest.mark.parametrize("mode", ["dark", "shadow"])
def test_a_service_that_fails_in_the_dark_harms_nobody(make, mode):
    with peer(lambda exchange: exchange.close()) as fake:
        selection = make(fake.url, rollout=mode).select("search code", TOOLS)
    assert selection.names == NAMES
    assert not selection.fell_open
    assert selection.reason == "api_error"
    assert selection.chosen == []


def test_percent_is_sticky_per_session(make):
    with peer(choose) as fake:
        selector = make(fake.url, rollout="percent:50")
        sides = {
            session: {
                selector.select(f"search {turn}", TOOLS, session=session).rollout
                for turn in range(3)
            }
            for session in map(str, range(40))
        }
    assert all(len(side) == 1 for side in sides.values())
    used = sum(side == {None} for side in sides.values())
    assert 8 <= used <= 32
    assert len(fake.requests) == used * 3


@pytest.mark.parametrize("session", [None, ""])
def test_without_a_session_each_request_has_a_side_of_its_own(make, session):
    """One pattern, or one caller that names no session, is not always on one side."""
    with peer(lambda exchange: exchange.select("read_file")) as fake:
        selector = make(fake.url, rollout="percent:50", observers=())
        sides = {selector.select("x", TOOLS, session=session).rollout for _ in range(60)}
    assert sides == {None, "percent"}  # by chance alone not in 1 of 2**59 runs


@given(st.text(), st.floats(0, 100), st.floats(0, 100))
def test_a_session_that_is_in_stays_in_when_the_percentage_grows(session, one, other):
    low, high = sorted((one, other))
    assert Rollout("percent", low).includes(session) <= Rollout("percent", high).includes(session)


def test_nought_and_a_hundred_percent_are_what_they_say():
    sessions = [str(number) for number in range(500)]
    assert not any(map(Rollout.parse("percent:0").includes, sessions))
    assert all(map(Rollout.parse("100%").includes, sessions))


@pytest.mark.parametrize(
    "setting", ["", "half", "percent:", "percent:-1", "101%", "percent:nan", 5]
)
def test_other_settings_are_refused(setting):
    with pytest.raises(InvalidArgument, match="rollout"):
        Rollout.parse(setting)
