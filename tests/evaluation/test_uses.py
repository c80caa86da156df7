"""Which tools were called, read from logs and JSON lines, and reported to a service."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support import running
from toolscout.cli import main
from toolscout.commands.evaluation.uses import (
    HASHED,
    NO_JSON,
    NO_QUERY,
    NO_SUCCESS,
    NO_TOOL,
    REPEATED,
    LoggedUse,
    read_uses,
)


def read(*entries: object) -> Any:
    return read_uses([json.dumps(entry).encode() + b"\n" for entry in entries])


def test_plain_lines_name_query_tool_and_success():
    uses = read(
        {"query": "pay it", "tool": "create_payment"},
        {"pattern": "look", "tool": "find_item", "success": False},
    )
    assert uses.found == [
        LoggedUse("pay it", "create_payment", True),
        LoggedUse("look", "find_item", False),
    ]
    assert not uses.lacking


def test_a_report_takes_the_request_of_its_turn():
    search = {"event": "search", "pattern": "pay it", "turn": "t1", "selected_names": ["a"]}
    report = {"event": "feedback", "reports": [{"turn": "t1", "tool": "a", "success": True}]}
    unknown = {"event": "feedback", "reports": [{"turn": "t9", "tool": "a", "success": True}]}
    uses = read(search, report, unknown)
    assert uses.found == [LoggedUse("pay it", "a", True)]
    assert uses.lacking == {NO_TOOL: 1, NO_QUERY: 1}


def test_turns_of_different_tenants_are_not_mixed():
    search = {"tenant": "acme", "pattern": "secret merger", "turn": "1"}
    report = {"tenant": "beta", "reports": [{"turn": "1", "tool": "a", "success": True}]}
    assert read(search, report).found == []


def test_a_report_of_a_turn_counts_once_and_only_if_it_says_whether_it_worked():
    once = {"query": "pay it", "turn": "t", "tool": "a", "success": True}
    uses = read(once, once, {"query": "x", "tool": "a", "success": "false"})
    assert uses.found == [LoggedUse("pay it", "a", True)]
    assert uses.lacking == {REPEATED: 1, NO_SUCCESS: 1}


def test_a_log_of_several_tenants_needs_the_name_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    log = tmp_path / "log"
    rows = [{"tenant": name, "query": "x", "tool": "y"} for name in ("acme", "beta")]
    log.write_text("\n".join(map(json.dumps, rows)))
    assert run("--from", str(log), "--url", "http://127.0.0.1:1", "--dry-run") == 2
    assert "'acme', 'beta'" in capsys.readouterr().err
    given = ("--tenant", "acme", "--dry-run")
    assert run("--from", str(log), "--url", "http://127.0.0.1:1", *given) == 0


def test_what_a_line_lacks_is_counted():
    hashed = {"pattern_hash": "9f", "tool": "a"}
    uses = read_uses([b"INFO started\n", b"[1]\n", b"\n", json.dumps(hashed).encode()])
    assert (uses.lines, uses.found) == (3, [])
    assert uses.lacking == {NO_JSON: 2, HASHED: 1}


def new(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder


def run(*arguments: str) -> int:
    return main(["learn", *arguments])


def test_a_service_learns_from_its_own_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tools = [{"name": "alpha_one"}, {"name": "beta_two"}]
    log, event = tmp_path / "log", {"turn": "t1", "tool": "beta_two", "success": True}
    with running(new(tmp_path, "first"), "--log", "full") as first:
        first.search("ship the parcel", tools, turn="t1")
        assert first.post(event, "/v1/tool-discovery/feedback").json() == {"accepted": 1}
        first.signal(signal.SIGTERM)
        first.wait()
        log.write_text(first.stdout)
    with running(new(tmp_path, "fresh")) as fresh:
        assert run("--from", str(log), "--url", fresh.url) == 0
        assert "1 use in" in capsys.readouterr().err
        assert fresh.names("ship the parcel", tools)[:1] == ["beta_two"]


def test_a_file_without_uses_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    empty = tmp_path / "events"
    empty.write_text('{"event": "search", "pattern": "x"}\n')
    assert run("--from", str(empty), "--url", "http://127.0.0.1:1", "--dry-run") == 1
    assert NO_TOOL in capsys.readouterr().err


def test_a_json_array_is_told_to_be_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    uses = tmp_path / "uses.json"
    uses.write_text('[{"query": "x", "tool": "y"}]')
    assert run("--from", str(uses), "--url", "http://127.0.0.1:1", "--dry-run") == 1
    assert "expected one in each line, not an array" in capsys.readouterr().err


def test_a_service_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    uses = tmp_path / "uses"
    uses.write_text('{"query": "x", "tool": "y"}\n')
    assert run("--from", str(uses), "--url", "http://127.0.0.1:1") == 2
    assert "http://127.0.0.1:1 does not answer" in capsys.readouterr().err
