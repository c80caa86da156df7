"""`toolscout replay`: the requests of a log answered once more."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import TOOLS, Server
from toolscout.cli import main

QUERY = "read the text of a file"


def search(*names: str, turn: str = "t1", query: str = QUERY, tenant: str = "") -> dict[str, Any]:
    of = {"tenant": tenant} if tenant else {}
    names_ = {"pattern": query, "selected_names": list(names), "selected": len(names)}
    return {"event": "search", "turn": turn, "outcome": "match", **names_, **of}


def called(tool: str, success: bool = True) -> dict[str, Any]:
    return {
        "event": "feedback",
        "reports": [{"tool": tool, "success": success, "turn": "t1"}],
    }


def replay(folder: Path, *entries: object, more: tuple[str, ...] = ("--json",)) -> int:
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    (folder / "log").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return main(["replay", str(folder / "log"), "--tools", str(folder / "tools.json"), *more])


@pytest.fixture
def answer(capsys: Any) -> Any:
    return lambda: json.loads(capsys.readouterr().out)


def test_a_call_that_was_not_shown_and_is_shown_now_is_a_gain(tmp_path: Path, answer: Any):
    assert replay(tmp_path, search("get_weather"), called("read_file")) == 0
    found = answer()
    assert (found["log"]["called_shown"], found["now"]["called_shown"]) == (0.0, 1.0)
    assert [(each["query"], each["tool"]) for each in found["gained"]] == [(QUERY, "read_file")]
    assert found["lost"] == []
    assert found["different"] == 1
    assert found["log"]["tokens"] < found["tokens_all"]


def test_another_ranker_or_number_of_tools_can_lose_a_call(tmp_path: Path, answer: Any):
    entries = search("read_file", "translate_text"), called("translate_text")
    assert replay(tmp_path, *entries, more=("--json", "--top-k", "1")) == 0
    found = answer()
    assert [(each["tool"], each["now"]) for each in found["lost"]] == [
        ("translate_text", ["read_file"])
    ]


def test_an_answer_without_tools_costs_all_of_them(tmp_path: Path, answer: Any):
    replay(tmp_path, search(query="qwxz vbnk trlp"))
    found = answer()
    assert found["log"]["nothing"] == found["now"]["nothing"] == 1.0
    assert found["now"]["tokens"] == found["tokens_all"]


def test_failed_calls_and_unknown_tools_are_left_out_and_counted(tmp_path: Path, answer: Any):
    replay(tmp_path, search("read_file"), called("send_email", success=False), called("gone"))
    found = answer()
    assert found["now"]["calls"] == 0
    assert found["unknown_tools"] == {"gone": 1}


def test_events_of_the_client_say_what_was_shown(tmp_path: Path, answer: Any):
    event = {"query": QUERY, "status": "selected", "selected": ["read_file"], "outcome": "match"}
    replay(tmp_path, event, {"query": QUERY, "tool": "read_file"})
    assert answer()["log"] == {
        "searches": 1, "tools": 1.0, "nothing": 0.0, "tokens": 9.0, "calls": 1, "called_shown": 1.0
    }  # fmt: skip


def test_a_log_without_answers_is_answered_now_and_says_so(tmp_path: Path, capsys: Any):
    plain = {"query": QUERY, "tool": "read_file"}
    assert replay(tmp_path, plain, more=("--price", "3")) == 0
    out = capsys.readouterr().out
    assert "The log does not say what was shown" in out
    assert "100.0%" in out
    assert "$0.0" in out


@pytest.mark.parametrize(
    "line",
    [
        {"event": "search", "pattern_hash": "ab", "selected": 1},
        {"request_id": "r", "query": "0123456789abcdef", "selected": ["read_file"]},
    ],
)
def test_a_hashed_log_has_nothing_to_replay_and_says_so(tmp_path: Path, capsys: Any, line: Any):
    assert replay(tmp_path, line) == 1
    assert "1 with hashed requests" in capsys.readouterr().err


def test_of_several_tenants_one_must_be_named(tmp_path: Path, capsys: Any):
    entries = search("read_file", tenant="acme"), search("get_weather", tenant="beta")
    assert replay(tmp_path, *entries) == 2
    assert "one of 'acme', 'beta'" in capsys.readouterr().err
    assert replay(tmp_path, *entries, more=("--json", "--tenant", "beta")) == 0
    assert json.loads(capsys.readouterr().out)["different"] == 1


def test_a_running_service_answers_as_the_engine(tmp_path: Path, answer: Any, server: Server):
    entries = search("get_weather"), called("read_file")
    replay(tmp_path, *entries)
    here = answer()
    replay(tmp_path, *entries, more=("--json", "--url", server.url))
    assert answer() == here


def test_the_text_names_what_is_found_now(tmp_path: Path, capsys: Any):
    replay(tmp_path, search("get_weather"), called("read_file"), called("gone"), more=())
    printed = capsys.readouterr()
    assert "calls found now: 1" in printed.out
    assert "their tools are not in the file: 'gone'" in printed.out
    assert "2 uses in 3 lines" in printed.err


def test_calls_of_which_nobody_knows_what_was_shown_are_not_compared(tmp_path: Path, answer: Any):
    plain = [{"query": "tell me a joke", "tool": "send_email", "success": True}] * 2
    assert replay(tmp_path, search("read_file"), called("read_file"), *plain) == 0
    found = answer()
    assert (found["log"]["called_shown"], found["now"]["called_shown"]) == (1.0, 1.0)
    assert found["uncompared"] == 2


def test_names_in_a_log_do_not_reach_the_terminal_as_they_are(tmp_path: Path, capsys: Any):
    entry = {"query": QUERY, "tool": "\x1b[31mevil", "success": True}
    replay(tmp_path, entry, search("read_file"), more=())
    assert "\x1b" not in capsys.readouterr().out
