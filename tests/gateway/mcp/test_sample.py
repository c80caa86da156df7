"""The example comes up without a network, with the server that Toolscout brings along."""

import sys
from pathlib import Path

import pytest
from fastmcp.client.transports import StdioTransport

from tests.gateway.mcp.hosts import ROOT, cache_in, connected, text_of
from tests.support import environment
from toolscout.cli import main

pytestmark = pytest.mark.integration

EXAMPLE = ROOT / "examples" / "mcp.json"


def test_the_example_says_how_many_tools_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    for name, folder in cache_in(tmp_path).items():
        monkeypatch.setenv(name, folder)
    assert main(["mcp", "--config", str(EXAMPLE), "--check"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "5 tools of sample",
        "sample: left out: 1 above max_risk: delete_task",
    ]


def test_the_tools_of_the_example_are_found_and_called(tmp_path: Path):
    command = ["-m", "toolscout", "mcp", "--config", str(EXAMPLE)]
    env = environment(**cache_in(tmp_path))
    log = tmp_path / "stderr"
    transport = StdioTransport(sys.executable, command, env, keep_alive=False, log_file=log)
    with connected(transport, log) as office:
        assert "sample__list_tasks" in [tool.name for tool in office.tools()]
        assert office.found("what is left to do")[0] == "sample__list_tasks"
        assert office.found("note something to do")[0] == "sample__add_task"
        counted = office.call("sample__count_words", text="two words")
        assert '"words":2' in text_of(counted).replace(" ", "")
        days = office.call("sample__days_between", first="2026-01-01", second="2026-01-31")
        assert text_of(days) == "30"
        assert office.call("sample__delete_task", text="x").is_error
