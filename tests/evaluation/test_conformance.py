"""`python -m evals.conformance`: what users elsewhere have found selectors to get wrong."""

import json
import shlex
import sys

import pytest

from evals.conformance.__main__ import main
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
