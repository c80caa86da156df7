"""Events and figures of searches: with names, but neither texts nor, by default, the query."""

import logging
import re
import sys

import pytest
from prometheus_client import CollectorRegistry

from tests.client.upstream import TOOLS, Exchange, peer
from toolscout.client import ConfigurationError
from toolscout.client.events import SearchEvent
from toolscout.client.metrics import PrometheusMetrics


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


def test_falling_open_is_a_warning_in_the_log(make, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "toolscout.client"), peer(choose) as fake:
        make(fake.url).select("x", TOOLS)
        make(None).select("x", TOOLS)
    chosen, open_ = [record for record in caplog.records if hasattr(record, "tool_search")]
    assert (chosen.levelname, open_.levelname) == ("INFO", "WARNING")
    assert chosen.tool_search["selected"] == ["read_file"]
    assert open_.tool_search["reason"] == "missing_api_endpoint"


def test_the_message_names_reason_detail_and_endpoint_but_no_credentials(
    make, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING, "toolscout.client"):
        make("http://user:pa55word@127.0.0.1:9/find?key=s3cret").select("x", TOOLS)
    message = caplog.messages[-1]
    assert message == (
        "tool search fell open: api_error (cannot connect), endpoint http://127.0.0.1:9/find"
    )
    assert "pa55word" not in caplog.text
    assert "s3cret" not in caplog.text


def test_the_message_of_a_choice_has_names_and_counts(make, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "toolscout.client"), peer(choose) as fake:
        make(fake.url).select("x", TOOLS)
        make(fake.url, rollout="dark").select("x", TOOLS)
        make(fake.url, rollout="shadow").select("x", TOOLS)
        make(fake.url, rollout="off").select("x", TOOLS)
        make(None, rollout="dark").select("x", TOOLS)
    selected, dark, shadow, off, warned, nobody = (
        re.sub(r"\d+ ms", "N ms", message) for message in caplog.messages
    )
    choice = 'selected 1 of 6 tools in N ms: ["read_file"]'
    assert selected == f"tool search {choice}"
    assert dark == f"tool search (dark) would have {choice}"
    assert shadow == f"tool search (shadow) would have {choice}, overlap 0.00"
    assert off == "tool search kept every tool (rollout off)"
    assert warned.startswith("no endpoint is set")
    assert nobody.startswith("tool search (dark) would have fallen open: missing_api_endpoint (")


def test_a_name_cannot_begin_a_line_of_the_log(make, caplog: pytest.LogCaptureFixture):
    name = "read\nERROR forged"
    with (
        caplog.at_level(logging.INFO, "toolscout.client"),
        peer(lambda exchange: exchange.select(name)) as fake,
    ):
        make(fake.url).select("x", [{"name": name}, {"name": "b"}])
    assert "\n" not in caplog.messages[0]


def test_an_observer_that_fails_is_not_the_callers_problem(make, caplog: pytest.LogCaptureFixture):
    def broken(event: SearchEvent) -> None:
        raise RuntimeError("no room")

    with peer(choose) as fake:
        selection = make(fake.url, observers=[broken]).select("x", TOOLS)
    assert selection.names == ["read_file"]
    assert "an observer of tool searches failed" in caplog.text


# Searches as Prometheus figures.


def test_searches_are_counted_by_status_and_reason(make):
    registry = CollectorRegistry()

    def second_is_empty(exchange: Exchange) -> None:
        exchange.select(*["read_file", "run_tests"][: 2 if exchange.number == 0 else 0])

    def sample(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"toolscout_client_{name}", labels)

    with peer(second_is_empty) as fake:
        selector = make(fake.url, observers=[PrometheusMetrics(registry)])
        for _ in range(3):
            selector.select("x", TOOLS)
    assert sample("searches_total", status="selected", reason="") == 1
    assert sample("searches_total", status="no_match", reason="empty_selection") == 2
    assert sample("tools_reinjected_total") == 2
    assert sample("tools_deferred_total") == 3 * len(TOOLS)
    assert sample("requests_total") == 3
    assert sample("added_latency_seconds_count") == 3


def test_searches_that_were_answered_by_a_cheaper_ranker_are_counted(make):
    registry = CollectorRegistry()

    def first_is_cold(exchange: Exchange) -> None:
        degraded = "keyword" if exchange.number == 0 else "no"
        exchange.select("read_file", headers=[("X-Tool-Selection", f"6->1; degraded={degraded}")])

    with peer(first_is_cold) as fake:
        selector = make(fake.url, observers=[PrometheusMetrics(registry)])
        for _ in range(3):
            selector.select("x", TOOLS)
    assert registry.get_sample_value("toolscout_client_searches_degraded_total") == 1


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ConfigurationError, match=r"toolscout\[metrics\]"):
        PrometheusMetrics()
