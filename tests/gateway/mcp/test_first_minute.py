"""What a host meets while servers start, and right after one has changed its list."""

import asyncio
import json
import sys
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from fastmcp.client.transports import StdioTransport

from tests.gateway.mcp.hosts import (
    ROOT,
    Host,
    cache_in,
    connected,
    host,
    inside,
    raw_server,
    stdio_server,
    text_of,
)
from tests.support import PATIENCE_S, environment, until
from toolscout.cli import main

pytestmark = pytest.mark.integration

OBJECT = {"type": "object"}
READS = {"readOnlyHint": True}


def reading(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "inputSchema": OBJECT,
        "annotations": READS,
    }


LOG = reading("git_log", "Show the history of commits")
GROW = reading("grow", "Have one tool more")


def soon(office: Host, tool: str, /, **arguments: Any) -> "Future[Any]":
    """Call a tool without waiting for the result."""
    return office.portal.start_task_soon(office._send, tool, arguments)


def test_a_host_that_lists_everything_when_it_connects_finds_every_server(tmp_path: Path):
    async def lists(office: Host) -> None:
        client = office.client
        await asyncio.gather(
            client.list_tools(),
            client.list_prompts(),
            client.list_resources(),
            client.list_resource_templates(),
        )

    servers = {"git": raw_server([LOG]), "notes": stdio_server()}
    with host(tmp_path, servers) as office:
        office.portal.call(lists, office)
        assert office.found("show the history of commits")[0] == "git__git_log"
        assert "unavailable" not in office.stderr


@pytest.mark.parametrize(("pinned", "ttl_ms"), [([], 60_000), (["git__git_log"], 0)])
def test_hosts_may_keep_the_list_of_tools_where_none_of_a_server_is_in_it(
    tmp_path: Path, pinned: list[str], ttl_ms: int
):
    with host(tmp_path, {"git": raw_server([LOG])}, mode="auto", pinned=pinned) as office:
        listed = office.portal.call(office.client.list_tools_mcp)
        assert (listed.ttl_ms, listed.cache_scope) == (ttl_ms, "private")
        assert office.portal.call(office.client.list_prompts_mcp).ttl_ms == 0


def test_each_search_waits_for_servers_that_start_and_then_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("toolscout.gateway.mcp.view.START_S", 0.05)
    starts = tmp_path / "starts"
    servers = {"git": raw_server([LOG], STARTS_WITH=str(starts))}
    with inside(tmp_path, servers) as office:
        for query in ("show the history", "open a valve"):
            answer = office.ask("search_tools", query=query)
            assert (
                answer["message"]
                == "No tool fits this query yet. Still starting: git. Search again."
            )
            assert answer["unavailable"] == {"git": "it is still starting"}
        refused = office.call("git__git_log")
        assert refused.is_error
        assert text_of(refused).endswith("; git: it is still starting")
        monkeypatch.setattr("toolscout.gateway.mcp.view.START_S", PATIENCE_S)
        found = soon(office, "search_tools", query="show the history of commits")
        called = soon(office, "call_tool", name="mcp__git__git_log")
        starts.touch()
        assert json.loads(text_of(found.result(PATIENCE_S)))["tools"][0]["name"] == "git__git_log"
        assert text_of(called.result(PATIENCE_S)) == "git_log"


BANNER = """
╭──────────────────╮
│      ▄▀▀ ▄▀█     │
│  FastGit 3.1     │
│  docs: git.test  │
╰──────────────────╯

INFO  Starting
    indented │ as before
┌ Traceback ┐
│ in main   │
└───────────┘
ValueError: no repository
"""


BOXED_ERROR = """\
Usage: server [OPTIONS] DIR
╭─ Error ───────────────────────╮
│ Missing argument 'DIR'.       │
╰───────────────────────────────╯
"""


def test_all_of_an_error_in_a_frame_is_logged(tmp_path: Path):
    with inside(tmp_path, {"git": raw_server([LOG], SAYS=json.dumps(BOXED_ERROR))}) as office:
        until(lambda: "INFO git: Missing argument 'DIR'." in office.stderr)


def test_of_a_banner_one_line_is_logged_and_of_an_error_each(tmp_path: Path):
    with inside(tmp_path, {"git": raw_server([LOG], SAYS=json.dumps(BANNER))}) as office:
        until(lambda: "no repository" in office.stderr)
        said = [line for line in office.stderr.splitlines() if line.startswith("INFO git: ")]
    assert [line.removeprefix("INFO git: ") for line in said if "1 tool" not in line] == [
        "FastGit 3.1",
        "INFO  Starting",
        "    indented │ as before",
        "Traceback",
        "in main",
        "ValueError: no repository",
    ]


def test_a_search_of_one_server_waits_for_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("toolscout.gateway.mcp.view.START_S", PATIENCE_S)
    servers = {
        "git": raw_server([LOG]),
        "never": raw_server([], STARTS_WITH=str(tmp_path / "starts")),
    }
    with inside(tmp_path, servers) as office:
        assert office.found("show the history", namespace="git") == ["git__git_log"]
        assert text_of(office.call("git__git_log")) == "git_log"


def test_of_a_command_with_its_arguments_only_the_first_word_is_told(tmp_path: Path):
    with inside(tmp_path, {"gone": {"command": "nothing -y --token sesame"}}) as office:
        why = office.ask("search_tools", query="show the history")["unavailable"]["gone"]
        told = "its command nothing is followed by more, which belongs into args and env"
        assert why == told
        assert "sesame" not in office.stderr


def test_servers_that_do_not_answer_are_named_in_place_of_a_count_of_no_tools(tmp_path: Path):
    with inside(tmp_path, {"gone": {"command": str(tmp_path / "nothing")}}) as office:
        answer = office.ask("search_tools", query="show the history")
        assert answer["message"] == "No tool can be found, for these servers do not answer: gone."
        why = answer["unavailable"]["gone"]
        assert why == f"its command {tmp_path / 'nothing'} does not exist"
        refused = text_of(office.call("gone__git_log"))
        assert refused == f"there is no tool of this name; gone: {why}"


def test_a_call_right_after_a_change_waits_for_the_list(tmp_path: Path):
    lists = tmp_path / "lists"
    servers = {"odd": raw_server([GROW], LISTS_WITH=str(lists)), "git": raw_server([LOG])}
    with host(tmp_path, servers) as office:
        assert text_of(office.call("odd__grow")) == "grow"
        called = soon(office, "call_tool", name="odd__grown")
        assert text_of(office.call("git__git_log")) == "git_log"  # which nothing holds up
        lists.touch()
        assert text_of(called.result(PATIENCE_S)) == "grown"


def test_what_goes_wrong_at_a_start_for_unknown_reasons_is_called_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("sesame")

    monkeypatch.setattr("toolscout.gateway.mcp.clients.open_streams", fail)
    address = "http://127.0.0.1:9/mcp"
    with inside(tmp_path, {"git": raw_server([LOG]), "far": {"url": address}}) as office:
        office.ask("search_tools", query="show the history")
        until(lambda: office.stderr.count("unavailable: ") >= 2)
        assert "git: unavailable: it could not be started (ZeroDivisionError)" in office.stderr
        assert f"it cannot be reached at {address} (ZeroDivisionError)" in office.stderr
        assert "sesame" not in office.stderr


# The example comes up without a network, with the server that Toolscout brings along.


EXAMPLE = ROOT / "examples" / "mcp.json"


def test_the_example_says_how_many_tools_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    for name, folder in cache_in(tmp_path).items():
        monkeypatch.setenv(name, folder)
    assert main(["mcp", "--config", str(EXAMPLE), "--check"]) == 0
    _, row, note = capsys.readouterr().out.splitlines()
    assert row.split()[:3] == ["sample", "ok", "5"]
    assert note == "sample: left out: 1 above max_risk: delete_task"


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
