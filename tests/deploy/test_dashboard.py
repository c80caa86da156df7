"""Dashboard and alerts ask for what the service says, by name, by label and by value."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.metrics import MetricWrapperBase

from tests.docs.test_links import anchors
from tests.support import Process
from toolscout.client.metrics import PrometheusMetrics
from toolscout.server.http.problems import CODES
from toolscout.server.observe.histogram import Distributions
from toolscout.server.observe.metrics import Metrics

DEPLOY = Path(__file__).parents[2] / "deploy"
FILES = DEPLOY / "helm" / "toolscout" / "files"
DASHBOARD = json.loads((FILES / "dashboard.json").read_text("utf-8"))
RULES = yaml.safe_load((FILES / "rules.yml").read_text("utf-8"))

PANELS = [
    (panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]
]
ALERTS = [
    (rule.get("record") or rule["alert"], rule["expr"])
    for group in RULES["groups"]
    for rule in group["rules"]
]
RECORDED = {
    rule["record"] for group in RULES["groups"] for rule in group["rules"] if "record" in rule
}

OF_PROMETHEUS = {"instance", "job", "le"}
"""Labels that scraping adds, and the bound of a bucket."""

_SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\})?")
_WORDS = {"by", "on", "or", "and", "le", "vector", "offset"}


def asked(expr: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each metric in an expression, with its label matchers."""
    bare = re.sub(r"\b(?:by|on|without)\s*\([^)]*\)", "", expr)
    bare = re.sub(r"\[[^]]*\]", "", bare)
    for found in _SELECTOR.finditer(bare):
        name, matchers = found.groups()
        rest = bare[found.end() :].lstrip()
        if (
            name in _WORDS
            or rest.startswith("(")
            or bare[found.start() - 1 : found.start()].isdigit()
        ):
            continue
        pairs = re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"', matchers or "")
        yield name, dict(pairs)


@pytest.fixture(scope="module")
def exposed(server: Process) -> set[str]:
    """Return the names of all samples that the running service can expose."""
    server.search()
    names = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", server.get("/metrics").text, re.M):
        suffixes = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        names |= {name + suffix for suffix in suffixes}
    return names | {f"{name}_total" for name in of_client()}


def of_client() -> dict[str, set[str]]:
    """Return the labels of each counter of the client, which proxies and programs expose."""
    counters = vars(PrometheusMetrics(CollectorRegistry())).values()
    return {one._name: set(one._labelnames) for one in counters if isinstance(one, Counter)}


def labels() -> dict[str, set[str]]:
    """Return the labels of each metric family."""
    metrics = Metrics()
    found = {metric.name: set[str]() for metric in metrics.registry.collect()}
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            found[metric._name] = set(metric._labelnames)
        elif isinstance(metric, Distributions):
            found[metric.name] = set(metric.label_names)
    return found | of_client()


def family(name: str) -> str:
    return re.sub(r"_(?:total|bucket|sum|count)$", "", name)


def test_a_panel_asks_for_metrics_that_the_service_exposes(exposed: set[str]):
    for title, expr in PANELS:
        names = [name for name, _ in asked(expr)]
        assert names, title
        assert set(names) <= exposed, title


def test_a_rule_asks_for_metrics_that_are_exposed_or_recorded(exposed: set[str]):
    for title, expr in ALERTS:
        names = {name for name, _ in asked(expr)}
        assert names, title
        assert names <= exposed | RECORDED | {"up"}, title


def test_each_alert_leads_to_a_section_that_says_what_to_do():
    alerts = [rule for group in RULES["groups"] for rule in group["rules"] if "alert" in rule]
    assert len(alerts) > 10
    for alert in alerts:
        page, _, anchor = alert["annotations"]["runbook_url"].partition("#")
        assert anchor in anchors(DEPLOY.parent / page), alert["alert"]


def test_each_alert_comes_in_a_test_of_promtool():
    text = (DEPLOY / "prometheus" / "rules_test.yml").read_text("utf-8")
    cases = [case for test in yaml.safe_load(text)["tests"] for case in test["alert_rule_test"]]
    coming = {case["alertname"] for case in cases if case["exp_alerts"]}
    slow = {name for name, _ in ALERTS if name.endswith("BurnSlow")}  # as the fast one, for days
    assert {name for name, _ in ALERTS} - RECORDED - slow == coming


def test_an_expression_selects_and_groups_by_labels_that_exist():
    known = labels()
    for title, expr in PANELS + ALERTS:
        of_all: set[str] = set(OF_PROMETHEUS)
        for name, matchers in asked(expr):
            of_metric = known.get(family(name), set()) | OF_PROMETHEUS
            assert set(matchers) <= of_metric, title
            of_all |= of_metric
        for group in re.findall(r"\bby\s*\(([^)]*)\)", expr):
            assert {label.strip() for label in group.split(",")} <= of_all, title


def test_selected_values_are_ones_the_service_writes(server: Process):
    server.search()
    text = server.get("/metrics").text
    bounds = set(re.findall(r'request_duration_seconds_bucket\{le="([^"]+)"', text))
    outcomes = {"match", "weak", "no_match", "client_gone", *CODES}
    allowed = {
        "le": bounds,
        "outcome": outcomes,
        "phase": {"total"},
        "result": {"hit", "miss", "ok", "refused"},
        "job": {"toolscout"},
        "tool": {"visible", "found", "hidden"},
        "instance": {"$instance"},
    }
    for title, expr in PANELS + ALERTS:
        for _, matchers in asked(expr):
            for label, value in matchers.items():
                assert set(value.split("|")) <= allowed[label], title
