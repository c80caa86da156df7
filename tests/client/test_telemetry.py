"""One event per search, with names but neither texts nor, by default, the query."""

import logging

import pytest

from tests.client.upstream import TOOLS, Exchange, peer
from toolscout.client import SearchEvent


def choose(exchange: Exchange) -> None:
    exchange.select("read_file", headers=[("X-Tool-Selection", "6->1; outcome=match")])


def test_an_event_says_what_a_search_did(make):
    events: list[SearchEvent] = []
    with peer(choose) as fake:
        selector = make(fake.url, observers=[events.append])
        selection = selector.select("my secret", TOOLS, session="s1", loop=2)
    (event,) = events
    assert event.selected == ["read_file"]
    assert event.deferred_count == len(TOOLS)
    assert event.status == "selected"
    assert (event.session, event.loop_count, event.attempts) == ("s1", 2, 1)
    assert event.outcome == "match"
    assert event.latency_ms == pytest.approx(selection.latency_ms, abs=0.001)
    assert event.request_id == selection.request_id
    assert len(event.query) == 16
    assert "secret" not in event.query


@pytest.mark.parametrize(("log", "query"), [("full", "my secret"), ("off", "")])
def test_the_query_is_in_events_only_when_wanted(make, log, query):
    events: list[SearchEvent] = []
    make(None, observers=[events.append], log_query=log).select("my secret", TOOLS)
    assert events[0].query == query


def test_a_session_is_not_made_of_the_query(make):
    events: list[SearchEvent] = []
    make(None, observers=[events.append]).select("my secret", TOOLS)
    assert events[0].session == ""


def test_falling_open_is_a_warning_in_the_log(make, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "toolscout.client"), peer(choose) as fake:
        make(fake.url).select("x", TOOLS)
        make(None).select("x", TOOLS)
    chosen, open_ = caplog.records
    assert (chosen.levelname, open_.levelname) == ("INFO", "WARNING")
    assert chosen.tool_search["selected"] == ["read_file"]
    assert open_.tool_search["reason"] == "missing_api_endpoint"


def test_an_observer_that_fails_is_not_the_callers_problem(make, caplog: pytest.LogCaptureFixture):
    def broken(event: SearchEvent) -> None:
        raise RuntimeError("no room")

    with peer(choose) as fake:
        selection = make(fake.url, observers=[broken]).select("x", TOOLS)
    assert selection.names == ["read_file"]
    assert "an observer of tool searches failed" in caplog.text
