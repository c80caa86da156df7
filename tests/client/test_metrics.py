"""Searches as Prometheus figures."""

import sys

import pytest
from prometheus_client import CollectorRegistry

from tests.client.upstream import TOOLS, Exchange, peer
from toolscout.client import ConfigurationError
from toolscout.client.metrics import PrometheusMetrics


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
