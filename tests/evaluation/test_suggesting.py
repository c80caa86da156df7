"""`toolscout suggest`: which overlay rows a log proposes, and what it makes nothing of."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support import TOOLS, running, toolscout
from toolscout import Engine


def searched(turn: str, pattern: str, *names: str, **more: Any) -> dict[str, Any]:
    fields = {"event": "search", "tenant": "acme", "turn": turn, "outcome": "match"}
    return fields | {"pattern": pattern, "selected_names": names} | more


def called(turn: str, *tools: str, success: bool = True) -> dict[str, Any]:
    reports = [{"turn": turn, "tool": tool, "success": success} for tool in tools]
    return {"event": "feedback", "tenant": "acme", "reports": reports}


def suggest(folder: Path, *lines: Any, flags: tuple[str, ...] = ()) -> tuple[int, Any, str]:
    """Return the status, the rows and what was said."""
    log = folder / "decisions.log"
    log.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    done = toolscout("suggest", "--log", str(log), *flags)
    return done.returncode, tomllib.loads(done.stdout).get("tool", []), done.stderr


def row(tool: str, *requests: str) -> dict[str, Any]:
    return {"name": tool, "tenant": "acme", "examples": list(requests)}


def test_a_search_that_had_to_be_repeated_is_proposed_for_the_tool_that_was_called(tmp_path: Path):
    lines = (
        searched("t1", "the sky over Rome", "read_file"),
        searched("t1", "weather forecast Rome", "get_weather", "read_file"),
        called("t1", "get_weather"),
    )
    assert suggest(tmp_path, *lines)[:2] == (0, [row("get_weather", "the sky over Rome")])


def test_a_turn_with_two_tasks_proposes_nothing_of_the_one_for_the_other(tmp_path: Path):
    lines = (
        searched("t1", "read a file", "read_file"),
        searched("t1", "send a mail", "send_email"),
        called("t1", "read_file", "send_email"),
    )
    assert suggest(tmp_path, *lines)[:2] == (1, [])


def test_a_hidden_tool_that_was_called_and_a_weak_answer_are_proposed(tmp_path: Path):
    lines = (
        searched("t1", "is it wet outside", "read_file"),
        called("t1", "get_weather"),
        searched("t2", "umbrella?", "get_weather", outcome="weak"),
        called("t2", "get_weather"),
        searched("t3", "umbrella?", "get_weather", outcome="weak"),
        called("t3", "get_weather"),
    )
    status, rows, _ = suggest(tmp_path, *lines)
    assert (status, rows) == (0, [row("get_weather", "umbrella?", "is it wet outside")])


@pytest.mark.parametrize(
    "lines",
    [
        [searched("t1", "a mystery"), called("t1", "get_weather", success=False)],
        [searched("t1", "a mystery"), called("t1", "get_weather", "read_file")],
        [searched("t1", "a mystery"), called("t2", "get_weather")],
        [searched("t1", "x" * 2_000), called("t1", "get_weather")],
        [searched("t1", "same"), searched("t1", "same", "a"), called("t1", "a")],
    ],
    ids=["failed", "two tools could be meant", "another turn", "too long", "found when repeated"],
)
def test_what_proves_nothing_is_not_proposed(tmp_path: Path, lines: list[Any]):
    assert suggest(tmp_path, *lines)[:2] == (1, [])


def test_requests_without_a_turn_belong_to_the_reports_of_the_same_words(tmp_path: Path):
    report = {"pattern": "is it wet", "tool": "get_weather", "success": True}
    lines = (
        {**searched("", "is it wet", "read_file"), "tenant": ""},
        {"event": "feedback", "reports": [report]},
    )
    _, (found,), _ = suggest(tmp_path, *lines)
    assert found == {"name": "get_weather", "examples": ["is it wet"]}


def test_what_nothing_was_called_for_is_listed(tmp_path: Path):
    lines = (searched("t1", "fly to Mars", outcome="no_match"), searched("t2", "read a file", "a"))
    _, _, said = suggest(tmp_path, *lines)
    assert "1 time nothing was called: 'fly to Mars'" in said
    assert "read a file" not in said


def test_a_log_of_hashes_is_told_so(tmp_path: Path):
    line = {"event": "search", "pattern_hash": "00ff"}
    reported = {"pattern": "is it wet", "tool": "get_weather", "success": True}
    status, _, said = suggest(tmp_path, line, {"event": "feedback", "reports": [reported]})
    assert status == 2
    assert "0 requests in 2 lines\n  1 with hashed requests" in said
    assert "decisions.log: hashed requests (`log = full` keeps them)" in said


def test_what_was_read_and_proposed_is_counted(tmp_path: Path):
    hashed = {"event": "search", "pattern_hash": "00ff"}
    found = [searched("t1", "read a file", "read_file"), called("t1", "read_file")]
    status, rows, said = suggest(tmp_path, hashed, hashed, "text", *found)
    assert (status, rows) == (1, [])
    assert "decisions.log: 1 request in 5 lines\n  2 with hashed requests" in said
    assert "\n  1 with no JSON object" in said
    assert "\n0 rows proposed\n" in said


def test_the_mark_at_the_beginning_of_a_log_is_no_part_of_its_first_line(tmp_path: Path):
    log = tmp_path / "decisions.log"
    lines = [searched("t1", "piano tuning", "read_file"), called("t1", "get_weather")]
    log.write_text("\n".join(map(json.dumps, lines)), "utf-8-sig")
    done = toolscout("suggest", "--log", str(log))
    assert tomllib.loads(done.stdout)["tool"] == [row("get_weather", "piano tuning")]
    assert "1 request in 2 lines\n1 row proposed\n" in done.stderr


def test_log_and_tools_cannot_both_be_standard_input():
    done = toolscout("suggest", "--log", "-", "--tools", "-", stdin="{}")
    assert done.returncode == 2
    assert "only one file can be - (standard input)" in done.stderr


@pytest.mark.parametrize("names", [(), ("read_file",)], ids=["hidden", "shown to one of them"])
def test_a_request_for_which_turns_called_different_tools_is_proposed_for_none(
    tmp_path: Path, names: tuple[str, ...]
):
    lines = (
        searched("t1", "is it wet", *names),
        called("t1", "get_weather"),
        searched("t2", "Is it  wet", *names),
        called("t2", "read_file"),
        searched("t3", "umbrella?"),
        called("t3", "get_weather"),
    )
    assert suggest(tmp_path, *lines)[:2] == (0, [row("get_weather", "umbrella?")])


def test_tenants_that_call_different_tools_for_a_request_each_get_theirs(tmp_path: Path):
    lines = (
        searched("t1", "is it wet"),
        called("t1", "get_weather"),
        searched("t1", "is it wet") | {"tenant": "beta"},
        called("t1", "read_file") | {"tenant": "beta"},
    )
    other = row("read_file", "is it wet") | {"tenant": "beta"}
    assert suggest(tmp_path, *lines)[:2] == (0, [row("get_weather", "is it wet"), other])


def test_odd_lines_and_texts_are_borne(tmp_path: Path):
    odd = 'say "hi" \\ \x7f \u2028 \ud7ff 😀 \t'
    lines = (
        [],
        "text",
        {"event": "search", "pattern": 7},
        {"event": "feedback", "reports": [3, {"success": True}]},
        searched("t1", odd, "read_file", selected_names=[None, 3, ["x"]]),
        called("t1", "get_weather"),
    )
    _, (found,), _ = suggest(tmp_path, *lines)
    assert found["examples"] == [odd.strip()]


def test_only_what_is_not_found_today_is_left(tmp_path: Path):
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS), "utf-8")
    lines = (
        searched("t1", "piano tuning", "read_file"),
        called("t1", "get_weather"),
        searched("t2", "weather forecast", "read_file"),
        called("t2", "get_weather"),
        searched("t3", "anything", "read_file"),
        called("t3", "gone_tool"),
    )
    _, rows, _ = suggest(tmp_path, *lines, flags=("--tools", str(tools)))
    assert rows == [row("get_weather", "piano tuning")]
    overlay = tmp_path / "overlay.toml"
    overlay.write_text('[[tool]]\nname = "get_weather"\nexamples = ["piano tuning"]', "utf-8")
    flags = ("--tools", str(tools), "--overlay", str(overlay))
    assert suggest(tmp_path, *lines, flags=flags)[:2] == (1, [])


def test_a_tenant_sees_its_own_requests_alone_and_the_rows_that_hold_for_it(tmp_path: Path):
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS), "utf-8")
    overlay = tmp_path / "overlay.toml"
    overlay.write_text(
        '[[tool]]\nname = "get_weather"\ntenant = "acme"\nexamples = ["piano tuning"]', "utf-8"
    )
    lines = (
        searched("t1", "piano tuning", "read_file"),
        called("t1", "get_weather"),
        searched("t1", "a secret merger", outcome="no_match") | {"tenant": "zenith"},
    )
    flags = ("--tools", str(tools), "--overlay", str(overlay), "--tenant", "acme")
    status, rows, said = suggest(tmp_path, *lines, flags=flags)
    assert (status, rows) == (1, [])
    assert "merger" not in said


def test_what_a_service_logs_becomes_an_overlay_that_finds(tmp_path: Path):
    asked = "piano tuning"
    with running(tmp_path, "--log", "full") as server:
        assert "get_weather" not in server.names(asked, turn="t1")
        report = {"turn": "t1", "tool": "get_weather", "success": True}
        assert server.post(report, "/v1/tool-discovery/feedback").status_code == 202
        log = server.log()
    done = toolscout("suggest", "--log", "-", stdin=log)
    overlay = tmp_path / "overlay.toml"
    overlay.write_text(done.stdout, "utf-8")
    assert Engine(TOOLS, overlay=overlay).search(asked).names[0] == "get_weather"
