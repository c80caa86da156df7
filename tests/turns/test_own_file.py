"""A gateway's own file behaves as in the gateway, and what is logged is what happens."""

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.client.upstream import NAMES, TOOLS, peer
from tests.support import PATIENCE_S, Process
from tests.turns.flows import DONE, PHANTOM, Model, search
from tests.turns.shapes import ABOUT, BY_NAME, tools_of
from toolscout.client import Selector
from toolscout.client.breaker import BreakerPolicy
from toolscout.discovery import DiscoveryConfig, load

OPENAI = BY_NAME["openai"]
DECLARED = tools_of(OPENAI)


def config(**section: Any) -> DiscoveryConfig:
    api = {"endpoint": section.pop("endpoint", "http://127.0.0.1:9")}
    return DiscoveryConfig.of({"enabled": True, "strategy": "api", "api": api, **section})


@pytest.mark.parametrize(
    ("keys", "arguments", "seen"),
    [
        ({}, {}, list(ABOUT)),
        ({"restore_on_no_match": True}, {}, list(ABOUT)),
        ({"restore_on_no_match": False}, {}, []),
        ({}, {"restore_on_no_match": False}, []),
        ({"restore_on_no_match": False}, {"restore_on_no_match": True}, list(ABOUT)),
    ],
)
def test_an_empty_selection_restores_all_tools_unless_the_file_says_no(
    flow, service, keys, arguments, seen
):
    model = Model(OPENAI, search("zxqv"), DONE)
    running = flow(config=config(endpoint=service.url, **keys), **arguments)
    running.complete(OPENAI.request("please help", DECLARED), model, "openai")
    assert model.seen(1) == [PHANTOM, *seen]


@pytest.mark.parametrize("written", ["off", '"off"', "dark", "percent:0"])
def test_the_rollout_is_a_key_of_the_file(flow, service, tmp_path, written):
    file = tmp_path / "gateway.yaml"
    file.write_text(
        "pipes: {tool_discovery: {enabled: true, strategy: api, rollout: "
        + written
        + ", api: {endpoint: '"
        + service.url
        + "'}}}"
    )
    model = Model(OPENAI, DONE)
    request = OPENAI.request("please help", DECLARED)
    flow(config=load(file)).complete(request, model, "openai")
    assert model.requests == [request]
    on = Model(OPENAI, DONE)
    flow(config=load(file), rollout="on").complete(request, on, "openai")
    assert on.seen(0) == [PHANTOM]


def test_variables_are_filled_in_within_lists(monkeypatch):
    monkeypatch.setenv("PINNED", "read_file")
    monkeypatch.delenv("UNSET", raising=False)
    names = ["${PINNED}", "send_email", "${UNSET:-run_tests}", "${UNSET}"]
    assert config(always_keep=names).always_keep == ("read_file", "send_email", "run_tests")


def test_a_variable_that_is_not_set_is_named(monkeypatch, caplog):
    monkeypatch.delenv("UNSET", raising=False)
    config(endpoint="${UNSET}", always_keep=["${UNSET}"])
    assert caplog.messages == [
        "always_keep: the variable UNSET is not set",
        "api.endpoint: the variable UNSET is not set",
    ]


@pytest.mark.parametrize("mode", ["dark", "shadow"])
def test_a_rollout_that_only_looks_says_that_nothing_was_found(flow, service, caplog, mode):
    running = flow("api", rollout=mode)
    with caplog.at_level(logging.INFO, "toolscout.client"):
        running.complete(OPENAI.request("zxqv", DECLARED), Model(OPENAI, DONE), "openai")
    assert f"tool search ({mode}) would have found none of 6 tools" in caplog.text


def test_an_open_circuit_is_a_warning_once_per_opening(caplog):
    policy = BreakerPolicy(consecutive=2, first_pause_s=0.05, jitter=0)
    failing = [True]

    def script(exchange: Any) -> None:
        exchange.answer(b"", 500) if failing[0] else exchange.select(NAMES[0])

    def outage() -> None:
        for _ in range(5):
            selector.select("x", TOOLS)

    with peer(script) as fake, Selector(fake.url, breaker=policy, timeout=PATIENCE_S) as selector:
        outage()
        failing[0] = False
        while selector.select("x", TOOLS).fell_open:
            pass
        failing[0] = True
        outage()
    warned = [r for r in caplog.records if r.levelname == "WARNING"]
    assert sum("circuit_open" in record.message for record in warned) == 2


# The configuration shipped for Context Gateway points at paths that the service answers.


FOLDER = Path(__file__).parents[2] / "deploy" / "proxies" / "context-gateway"


@pytest.mark.parametrize(("name", "strategy"), [("v0.4", "api"), ("v0.5", "tool-search")])
def test_the_endpoint_answers(
    server: Process, monkeypatch: pytest.MonkeyPatch, name: str, strategy: str
):
    monkeypatch.setenv("TOOLSCOUT_URL", server.url)
    monkeypatch.delenv("TOOLSCOUT_API_KEY", raising=False)
    config = load(FOLDER / f"{name}.yaml")
    assert (config.strategy, config.api.timeout, config.api.api_key) == (strategy, 2.0, "")
    with Selector(config.api.endpoint, config.api.api_key, timeout=10) as selector:
        selection = selector.select("send a mail", TOOLS, config.max_search_results)
    assert selection.names[0] == "send_email"


def test_the_files_work_without_any_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TOOLSCOUT_URL", raising=False)
    for path in FOLDER.glob("*.yaml"):
        assert load(path).api.endpoint.startswith("http://127.0.0.1:8080/")
