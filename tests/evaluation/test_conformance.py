"""`python -m evals.conformance`: what users elsewhere have found selectors to get wrong."""

import json
import shlex
import sys
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from evals.conformance.__main__ import RULES, main
from evals.conformance.backend import NEWER_PATH, PATH, Backend
from evals.conformance.contract import find_broken
from evals.conformance.selectors import Gateway, engine
from evals.conformance.suite import Case, RefusedError, UnsupportedError, load, run
from tests.support import Process

SUITE = load()
KNOWN_MISSES = {"referred-values"}
"""`make` of the question stands in the name of another tool."""


def missed(selector) -> set[str]:
    return {one.case.id for one in run(SUITE, selector, clock=lambda: 0.0) if one.holds is False}


def test_every_case_names_its_list_its_group_and_its_thread():
    assert len({case.id for case in SUITE.cases}) == len(SUITE.cases) >= 40
    for case in SUITE.cases:
        assert case.tools in SUITE.lists
        assert case.group in SUITE.groups
        owner, _, number = case.thread.partition("#")
        assert owner.count("/") == 1
        assert number.isdigit()


def test_the_engine_misses_what_the_page_says_it_misses():
    assert missed(engine) == KNOWN_MISSES


def test_a_selector_that_shows_everything_misses_what_needs_an_order_or_nothing():
    found = missed(lambda tools, case: [tool["name"] for tool in tools])
    assert {"letters", "smalltalk", "excluded", "shorter-of-alike"} <= found


def test_a_refusal_shows_nothing_and_what_is_not_supported_is_not_run():
    def refusing(tools: object, case: Case) -> list[str]:
        if case.filters:
            raise UnsupportedError("no filters")
        raise RefusedError("no")

    verdicts = {one.case.id: one for one in run(SUITE, refusing)}
    assert verdicts["letters"].holds is verdicts["empty"].holds is True
    assert verdicts["bare-name"].holds is False
    assert verdicts["excluded"].holds is None


def test_an_answer_that_comes_too_late_is_missed():
    late = {
        one.case.id
        for one in run(SUITE, engine, clock=iter(range(2 * len(SUITE.cases))).__next__)
        if one.holds is False and one.case.within_s
    }
    assert late == set()
    slow = iter(range(0, 4 * len(SUITE.cases), 2)).__next__
    late = {one.case.id for one in run(SUITE, engine, clock=slow) if one.holds is False}
    assert late - KNOWN_MISSES == {"endless-regex", "long"}


def test_a_service_that_refuses_the_key_is_not_judged(keyed: Process, monkeypatch, capsys):
    monkeypatch.delenv("TOOLSCOUT_API_KEY", raising=False)
    monkeypatch.setattr(sys, "argv", ["evals.conformance", "--url", keyed.url])
    with pytest.raises(SystemExit):
        main()
    assert "401" in capsys.readouterr().err


def test_a_table_a_badge_and_an_exit_status_come_of_it(tmp_path, monkeypatch, capsys):
    mine = tmp_path / "mine.py"
    mine.write_text("def selector(tools):\n    return lambda query, top_k: []\n")
    badge = tmp_path / "badge.json"
    asked = ["evals.conformance", "--peer", str(mine), "--badge", str(badge)]
    monkeypatch.setattr(sys, "argv", asked)
    assert main() == 1
    told = capsys.readouterr().out
    assert "bare-name" in told
    assert "openai/codex#21503" in told
    assert json.loads(badge.read_text())["message"] == "7 of 41"


@pytest.mark.integration
def test_a_service_misses_the_same(server: Process, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["evals.conformance", "--url", server.url])
    assert main() == 1
    assert (
        f"{len(SUITE.cases) - len(KNOWN_MISSES)} of {len(SUITE.cases)}" in capsys.readouterr().out
    )


@pytest.mark.integration
def test_the_gateway_misses_the_same():
    gateway = Gateway(f"{shlex.quote(sys.executable)} -m toolscout mcp --config {{config}}")
    try:
        assert missed(gateway) == KNOWN_MISSES
    finally:
        gateway.close()


Change = Callable[[dict[str, Any]], dict[str, Any]]


class Tampered(Backend):
    """A backend whose requests or answers are changed on their way."""

    def __init__(self, url: str, asked: Change | None, answered: Change | None) -> None:
        super().__init__(url)
        self._asked, self._answered = asked, answered

    def post(self, body: Any, path: str = PATH) -> httpx2.Response:
        if self._asked and isinstance(body, dict):
            body = self._asked(body)
        response = super().post(body, path)
        if not (self._answered and response.is_success):
            return response
        return httpx2.Response(200, json=self._answered(response.json()))


def test_the_service_keeps_every_rule(server: Process):
    backend = Backend(server.url)
    assert find_broken(backend, RULES) == {}
    backend.close()


def names(change: Callable[[list[str]], list[str]]) -> Change:
    return lambda answer: {**answer, "selected_names": change(answer["selected_names"])}


@pytest.mark.parametrize(
    ("asked", "answered", "rule"),
    [
        (None, names(lambda found: found[::-1]), "the best one first"),
        (None, names(lambda found: found * 2), "each once"),
        (None, names(lambda found: [*found, "x"]), "all of them were offered"),
        (None, names(lambda found: found or ["read_file"]), "Where nothing fits"),
        (None, lambda answer: {"names": answer["selected_names"]}, "names the tool that fits"),
        (None, lambda answer: {**answer, "success": 1}, "`query` and `max_tools` get"),
        (lambda body: {**body, "top_k": 20}, None, "at most `top_k` names"),
        (lambda body: {**body, "always_keep": []}, None, "in the answer of every match"),
        (lambda body: {**body, "tools": body["tools"][:9]}, None, "definition of every provider"),
        (lambda body: {**body, "pattern": body.get("pattern") or "x"}, None, "A blank query"),
    ],
)
def test_a_backend_that_does_otherwise_breaks_a_rule(
    server: Process, asked: Change | None, answered: Change | None, rule: str
):
    backend = Tampered(server.url, asked, answered)
    (meant,) = [one for one in RULES if rule in one.text]
    assert meant.text in find_broken(backend, [meant])
    backend.close()


def test_a_backend_without_the_newer_path_breaks_its_rules(server: Process):
    class Older(Backend):
        def post(self, body: Any, path: str = PATH) -> httpx2.Response:
            return httpx2.Response(404) if path != PATH else super().post(body, path)

    backend = Older(server.url)
    broken = find_broken(backend, RULES)
    backend.close()
    assert NEWER_PATH.startswith("/api/")
    assert {rule.text for rule in RULES if rule.group == "newer"} == {*broken}
