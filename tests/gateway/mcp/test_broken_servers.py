"""Servers that cannot be started are told each once, and hold up no other."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.mcp.hosts import cache_in, inside, raw_server, stdio_server, write
from tests.gateway.mcp.test_check import read_table
from tests.support import free_port, until
from toolscout.cli import main

pytestmark = pytest.mark.integration

READ = {
    "name": "read_city",
    "description": "Read one city",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}
UNSET = {"TOKEN": "${TOOLSCOUT_NO_SUCH_VARIABLE}"}
WHY_UNSET = "the variable TOOLSCOUT_NO_SUCH_VARIABLE is not set"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `toolscout mcp` with flags; returns the exit status and what was printed."""
    for name, folder in cache_in(tmp_path).items():
        monkeypatch.setenv(name, folder)

    def run(servers: dict[str, Any], *flags: str, **options: Any) -> tuple[int, str, str]:
        status = main(["mcp", "--config", str(write(tmp_path, servers, **options)), *flags])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def six_servers() -> dict[str, Any]:
    return {
        "a": raw_server([READ]),
        "b": raw_server([READ, READ | {"name": "read_town"}]),
        "gone": {"command": "no-such-program-of-toolscout"},
        "unset": raw_server([READ], **UNSET),
        "down": {"url": f"http://127.0.0.1:{free_port()}/mcp?key=sesame"},
        "c": stdio_server(),
    }


def test_a_check_shows_every_server_and_each_failure_once(run: Run):
    status, out, err = run(six_servers(), "--check")
    rows, why, _ = read_table(out)
    assert (status, err) == (2, "")
    assert rows == {
        "a": ("ok", "1"),
        "b": ("ok", "2"),
        "gone": ("failed", "-"),
        "unset": ("failed", "-"),
        "down": ("failed", "-"),
        "c": ("ok", "8"),
    }
    assert why["gone"] == "its command no-such-program-of-toolscout does not exist"
    assert why["unset"] == f"mcpServers.unset.env.TOKEN: {WHY_UNSET}"
    assert why["down"].startswith("it cannot be reached at http://127.0.0.1")
    assert "sesame" not in out
    assert all(out.count(one) == 1 for one in why.values())


def test_a_check_of_servers_of_which_all_answer_is_exit_status_0(run: Run):
    status, out, err = run({"a": raw_server([READ])}, "--check")
    assert (status, read_table(out)[0], err) == (0, {"a": ("ok", "1")}, "")


def test_a_check_starts_a_server_that_ends_at_once_only_once(run: Run, tmp_path: Path):
    starts = tmp_path / "starts"
    ending = {"command": "sh", "args": ["-c", f"echo started >> {shlex.quote(str(starts))}"]}
    assert run({"ending": ending, "notes": stdio_server()}, "--check")[0] == 2
    assert starts.read_text() == "started\n"


def test_a_pinned_tool_of_a_server_that_has_failed_is_not_called_unknown(run: Run):
    pinned = ["gone__read", "server:gone", "a__read_city"]
    _, out, _ = run(six_servers(), "--check", pinned=pinned)
    assert "there is no tool" not in out


def _without_rights(folder: Path) -> dict[str, Any]:
    (folder / "locked").write_text("#!/bin/sh\n")
    return {"command": str(folder / "locked")}


def _without_interpreter(folder: Path) -> dict[str, Any]:
    (folder / "script").write_text("#!/no/such/program\n")
    (folder / "script").chmod(0o700)
    return {"command": str(folder / "script")}


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (lambda folder: {"command": "no-such-x"}, "its command no-such-x does not exist"),
        (lambda folder: {"command": f"{folder}/x"}, "its command FOLDER/x does not exist"),
        (
            lambda folder: {"command": "ls", "cwd": f"{folder}/x"},
            "its folder FOLDER/x does not exist",
        ),
        (
            lambda folder: {"command": "ls", "cwd": f"{folder}/mcp.json"},
            "its folder FOLDER/mcp.json does not exist",
        ),
        (
            lambda folder: {"command": "no/sesame-of-mine", "env": {"K": "sesame-of-mine"}},
            "its command no/*** does not exist",
        ),
        (_without_rights, "its command FOLDER/locked may not be used"),
        (
            _without_interpreter,
            "the program that the first line of its command FOLDER/script names does not exist",
        ),
    ],
)
def test_what_is_missing_of_a_command_is_named(run: Run, tmp_path: Path, server, why):
    _, out, _ = run({"gone": server(tmp_path)}, "--check")
    assert read_table(out)[1] == {"gone": why.replace("FOLDER", str(tmp_path))}


def test_a_variable_that_is_not_set_stops_its_server_alone(tmp_path: Path):
    servers = {"a": raw_server([READ]), "unset": raw_server([READ], **UNSET)}
    why = f"mcpServers.unset.env.TOKEN: {WHY_UNSET}"
    with inside(tmp_path, servers) as office:
        answer = office.ask("search_tools", query="read one city")
        assert [tool["name"] for tool in answer["tools"]] == ["a__read_city"]
        assert answer["unavailable"] == {"unset": why}
        assert not office.call("a__read_city").is_error
        assert office.call("unset__read_city").is_error
        until(lambda: "a: 1 tool" in office.stderr)
        assert office.stderr.count(f"unset: unavailable: {why}") == 1
        assert "listing the tools of a\n" in office.stderr


def test_a_server_starts_when_its_entry_no_longer_needs_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("toolscout.gateway.mcp.gateway.FOLLOW_S", 0.05)
    a = raw_server([READ])
    with inside(tmp_path, {"a": a, "b": raw_server([READ], **UNSET)}) as office:
        until(lambda: office.names() == {"a__read_city"})
        write(tmp_path, {"a": a, "b": raw_server([READ])})
        until(lambda: office.names() == {"a__read_city", "b__read_city"})


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"alow": ["read_*"]}, "mcpServers.unset.alow: unknown key; did you mean allow?"),
        ({"default_risk": "none"}, "mcpServers.unset.default_risk: expected one of"),
        ({"type": "sse"}, "mcpServers.unset.type: expected stdio"),
        ({"url": "http://127.0.0.1"}, "mcpServers.unset: expected either command or url"),
        ({"allowedTools": ["x"]}, "mcpServers.unset.allowedTools: unknown key"),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--check",), ("--list",)], ids=["serve", "check", "list"])
def test_a_wrong_setting_beside_such_a_variable_stops_the_start(run: Run, more, said, flags):
    servers = {"a": raw_server([READ]), "unset": raw_server([READ], **UNSET) | more}
    status, out, err = run(servers, *flags)
    assert (status, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("flags", [("--check",), ("--list",)])
def test_a_file_of_which_no_server_can_start_is_shown_like_any_other(run: Run, flags):
    status, out, err = run({"unset": raw_server([READ], **UNSET)}, *flags)
    assert status == 2
    assert (out + err).count(WHY_UNSET) == 1


def test_nobody_logs_in_to_a_server_whose_variable_is_not_set(run: Run):
    docs = {"url": "https://${TOOLSCOUT_NO_SUCH_VARIABLE}/mcp", "auth": "oauth"}
    status, _, err = run({"a": raw_server([READ]), "docs": docs}, "--login", "docs")
    assert (status, err) == (2, f"toolscout: login: mcpServers.docs.url: {WHY_UNSET}\n")


# The list of all tools.


def test_the_list_is_what_every_command_takes_and_names_tools_as_the_gateway_does(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    status, out, err = run({"a": raw_server([READ]), "notes": stdio_server()}, "--list")
    assert (status, err) == (0, "")
    names = {tool["name"] for tool in json.loads(out)}
    assert len(names) == 9
    assert {"a__read_city", "notes__list_notes"} < names
    tools, questions = tmp_path / "tools.json", tmp_path / "questions.csv"
    tools.write_text(out, "utf-8")
    questions.write_text("query,tools\nread one city,a__read_city\n", "utf-8")
    assert main(["search", "read one city", "--tools", str(tools)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "a__read_city"
    assert main(["lint", "--tools", str(tools), "--ignore", "refused"]) in (0, 1)
    assert "9 tools" in capsys.readouterr().out
    asked = ["--questions", str(questions), "--min-recall", "1"]
    assert main(["evaluate", "--tools", str(tools), *asked]) == 0


def test_the_list_has_the_tools_of_the_servers_that_answer(run: Run):
    status, out, err = run(six_servers(), "--list")
    assert status == 2
    assert {tool["name"].partition("__")[0] for tool in json.loads(out)} == {"a", "b", "c"}
    assert [line.split()[1] for line in err.splitlines()] == ["gone", "unset", "down"]


def test_the_list_leaves_out_what_the_gateway_would(run: Run):
    servers = {"notes": stdio_server(deny=["erase_*"])}
    _, out, _ = run(servers, "--list", "--max-risk", "read_only")
    names = {tool["name"] for tool in json.loads(out)}
    assert "notes__list_notes" in names
    assert not {"notes__erase_notebook", "notes__send_note"} & names


@pytest.mark.parametrize(
    "command",
    [
        ["search", "read one city", "--tools"],
        ["lint", "--tools"],
        ["evaluate", "--questions", "questions.csv", "--tools"],
    ],
    ids=lambda command: command[0],
)
def test_a_command_that_is_given_servers_names_the_command_that_lists_their_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command
):
    folder = tmp_path / "a folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    path = write(folder, {"a": raw_server([READ])})
    assert main([*command, str(path)]) == 2
    told = capsys.readouterr().err
    named = re.search(r"toolscout (mcp .* --list) > tools\.json", told)
    assert named is not None
    assert main(shlex.split(named[1])) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "a__read_city"
