"""A server that means harm harms nobody but itself."""

import json
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from tests.gateway.mcp.hosts import (
    Host,
    cache_in,
    connected,
    host,
    inside,
    listening,
    raw_server,
    stdio_server,
    text_of,
    write,
)
from tests.gateway.mcp.test_availability import start
from tests.support import PATIENCE_S, until
from toolscout.cli import main
from toolscout.gateway.mcp import listing, tool_pages, transports

KEY = "sesame-of-the-longer-kind"
PEM = "-----BEGIN KEY-----\nc2VzYW1lLXNlc2FtZQ==\n  b3BlbnNlc2FtZQ==\n-----END KEY-----\n"

FINE: dict[str, Any] = {
    "name": "fine",
    "description": "Read one city",
    "inputSchema": {"type": "object"},
}


def hostile(harm: str = "", **env: str) -> dict[str, object]:
    return stdio_server("hostile", env={"HARM": harm, **env})


def status(office: Host) -> list[str]:
    result = office.portal.call(office.client.get_prompt, "backend_status")
    text: str = result.messages[0].content.text
    return text.splitlines()


def peak_mib(pid: int) -> float:
    """Return the most memory that a process has had so far."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1_024


def test_no_value_of_env_reaches_the_log_in_any_part(tmp_path: Path):
    with inside(tmp_path, {"odd": hostile("leak", KEY=KEY, PEM=PEM)}) as office:
        until(lambda: "odd: after" in office.stderr)
        lines = office.stderr.splitlines()
    assert not any(KEY[:6] in line for line in lines)
    assert not any(part in line for part in PEM.split("\n") if part for line in lines)
    assert r"INFO odd: \x1b[2J\u202ered" in lines
    assert 1_900 < max(map(len, lines)) < 2_100


@pytest.mark.parametrize("how", ["deep", "dense", "broken", "bare", "amid", "refused"])
def test_a_call_whose_answer_cannot_be_read_ends_with_an_error(tmp_path: Path, how: str):
    with inside(tmp_path, {"odd": hostile()}) as office:
        failed = office.call("odd__work", how=how)
        assert failed.is_error
        assert text_of(failed) == "odd gave an answer that cannot be read"
        assert text_of(office.call("odd__work")) == "worked"


def test_a_long_answer_is_passed_on_and_one_that_is_too_long_told_with_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with inside(tmp_path, {"odd": hostile()}) as office:
        said = office.call("odd__work", how="long").structured_content
        assert said == {"more": "z" * (17 << 20)}
        monkeypatch.setattr(transports, "MAX_MESSAGE_BYTES", 1 << 20)
        failed = office.call("odd__work", how="long")
        assert failed.is_error
        told = r"odd gave an answer that is too long: it has 17,825,\d{3} bytes; at most 67,108,864"
        assert re.match(told, text_of(failed))
        assert text_of(office.call("odd__work")) == "worked"


def test_a_line_of_a_log_with_the_id_of_a_call_is_not_its_answer(tmp_path: Path):
    with inside(tmp_path, {"odd": hostile()}) as office:
        assert text_of(office.call("odd__work", how="log")) == "worked"


def test_half_of_an_emoji_and_a_number_without_bounds_cost_no_answer_and_no_list(tmp_path: Path):
    with inside(tmp_path, {"odd": hostile("cut")}) as office:
        assert (
            office.ask("tool_info", name="odd__work", detail="full")["description"] == "Work \ufffd"
        )
        said = office.call("odd__work", how="cut").structured_content
        more = ["half \ufffd", "whole \U0001f600", None, None, None, "none \ufffd"]
        assert said == {"more": more}


def test_a_server_with_too_many_tools_is_cut_and_the_others_change_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for module in (listing, tool_pages):
        monkeypatch.setattr(module, "MAX_TOOLS", 100)
    servers = {"odd": hostile("many", MANY="150"), "notes": stdio_server()}
    with inside(tmp_path, servers) as office:
        until(lambda: office.found("list the notes", namespace="notes") != [])
        until(lambda: office.ask("list_tools_meta")["total"] == 100)
        assert not office.call("notes__learn_shorthand").is_error
        new = "notes__transcribe_shorthand"
        until(lambda: new in office.found("transcribe shorthand", namespace="notes"))
        said = "odd: answers, 91 tools; left out: all beyond the first 91"
        assert said in status(office)
        assert "odd: left out: all beyond the first 9" in office.stderr


def test_names_that_cannot_be_shown_or_mean_several_tools_are_left_out_and_said(tmp_path: Path):
    with inside(tmp_path, {"odd": hostile("names")}) as office:
        assert office.names() == {"odd__work"}
        why = (
            r"left out: 6 without a name that can be shown: '', ' ', 'new\nline', 'es\x1b[2Jcape', "
            r"'\u202eright', …; 2 of one name with several definitions: two"
        )
        assert status(office) == [f"odd: answers, 1 tool; {why}"]
        assert f"odd: {why}" in office.stderr


def test_an_entry_that_is_no_tool_is_left_out_and_takes_none_with_it(tmp_path: Path):
    with inside(tmp_path, {"odd": hostile("entries", WAITS="1")}) as office:
        assert office.names() == {"odd__work"}
        assert not office.call("odd__work", how="begin").is_error
        said = "odd: answers, 1 tool; left out: 4 that cannot be read: odd (description: input "
        until(lambda: status(office)[0].startswith(said))
        line = status(office)[0]
        assert ", #3 (input should be a valid dictionary" in line
        assert line.endswith(", bare (inputSchema: field required)")
        assert text_of(office.call("odd__work")) == "worked"


def test_the_last_list_is_kept_when_a_later_one_cannot_be_read(tmp_path: Path):
    with inside(tmp_path, {"odd": hostile("no list", WAITS="1")}) as office:
        assert not office.call("odd__work", how="begin").is_error
        until(lambda: "odd: its list cannot be read; the last one is kept" in office.stderr)
        assert text_of(office.call("odd__work")) == "worked"
        assert status(office) == ["odd: answers, 1 tool"]


def test_a_list_that_is_too_long_is_told_with_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tool_pages, "MAX_LIST_BYTES", 50)
    with inside(tmp_path, {"odd": hostile()}) as office:
        why = r"odd: unavailable: its answer is too long: it has \d+ bytes; at most 50 are read"
        until(lambda: re.search(why, office.stderr) is not None)


def test_a_tool_keeps_its_highest_risk_and_is_read_again_when_it_changes(tmp_path: Path):
    with inside(tmp_path, {"odd": hostile("pull")}) as office:
        before = office.ask("tool_info", name="odd__wipe", detail="full")
        assert before["risk"] == "destructive"
        assert not office.call("odd__work", how="pull").is_error
        call, answers = {"name": "odd__wipe", "token": before["token"]}, []

        def is_refused() -> bool:
            answers.append(office.send("call_tool_write", call))
            return "odd__wipe has changed and is destructive" in text_of(answers[-1])

        until(is_refused)
        after = office.ask("tool_info", name="odd__wipe", detail="full")
        assert after["risk"] == "destructive"
        assert after["token"] != before["token"]
        assert text_of(office.call_again(answers[-1])) == "worked"
        said = "odd__wipe has changed: description, annotations; it is destructive"
        assert office.stderr.count(said) == 1


def test_a_tool_that_becomes_harmless_is_not_offered_where_its_risk_was_too_high(tmp_path: Path):
    with inside(tmp_path, {"odd": hostile("pull")}, "--max-risk", "read_only") as office:
        assert office.names() == {"odd__work"}
        assert not office.call("odd__work", how="pull").is_error
        until(lambda: "odd__wipe has changed" in office.stderr)
        assert office.names() == {"odd__work"}


def test_a_tool_that_is_not_as_it_was_accepted_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(*next(iter(cache_in(tmp_path).items())))
    pins = tmp_path / "pins.json"
    flags = ("--pin-definitions", str(pins))
    servers = {"odd": hostile("pull")}
    with inside(tmp_path, servers, *flags) as office:
        assert office.names() == {"odd__wipe", "odd__work"}
        assert list(json.loads(pins.read_text())) == ["odd__wipe", "odd__work"]
        assert not office.call("odd__work", how="pull").is_error
        until(lambda: office.names() == {"odd__work"})
        said = "left out: 1 not accepted as they are now: wipe"
        assert status(office) == [f"odd: answers, 1 tool; {said}"]
    accepted = json.loads(pins.read_text())
    pins.write_text(json.dumps({"odd__work": accepted["odd__work"]}), "utf-8")
    with inside(tmp_path, servers, *flags) as office:
        assert office.names() == {"odd__work"}
        config = str(tmp_path / "mcp.json")
        assert main(["mcp", "--config", config, *flags, "--accept", "odd__w*"]) == 0
        assert capsys.readouterr().out == "odd__wipe: new\n"
        assert json.loads(pins.read_text()) == accepted
        assert main(["mcp", "--config", config, *flags, "--accept", "odd__w*"]) == 0
        assert capsys.readouterr().out == "nothing to accept\n"
        assert main(["mcp", "--config", config, *flags, "--accept", "odd__work", "git__*"]) == 2
        assert "accept: no tool is named git__*" in capsys.readouterr().err
    with inside(tmp_path, servers, *flags) as office:
        assert office.names() == {"odd__wipe", "odd__work"}


def test_a_file_of_definitions_that_cannot_be_written_is_said_and_hides_no_tool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(*next(iter(cache_in(tmp_path).items())))
    pins = tmp_path / "missing" / "pins.json"
    with inside(tmp_path, {"odd": hostile("pull")}, "--pin-definitions", str(pins)) as office:
        assert office.names() == {"odd__wipe", "odd__work"}
        assert f"{pins}: cannot be written: No such file or directory" in office.stderr
        assert not office.call("odd__work", how="pull").is_error
        until(lambda: office.names() == {"odd__work"})
        config = str(tmp_path / "mcp.json")
        assert (
            main(["mcp", "--config", config, "--pin-definitions", str(pins), "--accept", "*"]) == 2
        )
        assert f"{pins}: cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [("{", "pins.json:1:2: not valid JSON"), ('{"a": 1}', "a: expected sha256:"), ("[]", "object")],
)
def test_a_file_of_definitions_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, said: str
):
    pins = tmp_path / "pins.json"
    pins.write_text(content, "utf-8")
    config = str(write(tmp_path, {"odd": hostile()}))
    assert main(["mcp", "--config", config, "--pin-definitions", str(pins)]) == 2
    assert said in capsys.readouterr().err
    assert main(["mcp", "--config", config, "--accept", "odd__work"]) == 2
    assert "accept: expected --pin-definitions" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize("stream", ["stderr", "stdout"])
def test_a_line_without_end_takes_no_memory_and_holds_up_no_other(tmp_path: Path, stream: str):
    config = write(tmp_path, {"odd": hostile(stream), "notes": stdio_server()})
    command = ["-m", "toolscout", "mcp", "--config", str(config), "--http", "127.0.0.1:PORT"]
    with (
        listening(tmp_path, *command) as (url, process),
        connected(url, tmp_path) as office,
        connected(url, tmp_path) as other,
    ):
        until(lambda: {"odd__work", "notes__list_notes"} <= office.names())
        idle = peak_mib(process.pid)

        def lost() -> None:
            with pytest.raises(MCPError):  # the gateway ends before it is answered
                office.call("odd__work", how="endless")

        call = threading.Thread(target=lost)
        call.start()
        for _ in range(100):
            assert not other.call("notes__list_notes").is_error
            call.join(0.05)
        assert peak_mib(process.pid) <= 1.5 * idle + 64
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
        call.join(PATIENCE_S)


@pytest.mark.integration
def test_a_server_that_never_answers_is_gone_with_its_children_when_the_gateway_ends(
    tmp_path: Path,
):
    pids = tmp_path / "pids"
    config = str(write(tmp_path, {"odd": hostile("sulk", PIDS=str(pids))}))
    with start("--config", config, folder=tmp_path) as process:
        until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    until(lambda: not any(map(is_running, pids.read_text().split())))


def is_running(pid: str) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_server_of_an_unknown_version_is_told_of_as_such(tmp_path: Path):
    with inside(tmp_path, {"odd": hostile("version")}) as office:
        unavailable = "odd: unavailable: it speaks no known version of the protocol"
        until(lambda: unavailable in office.stderr)


@pytest.mark.integration
def test_hosts_get_prompts_without_hidden_characters(tmp_path: Path):
    hidden = "a\u202e\x1bb"
    argument = {"name": "x", "description": hidden}
    prompts = json.dumps([{"name": "p", "description": hidden, "arguments": [argument]}])
    with inside(tmp_path, {"odd": raw_server([FINE], PROMPTS=prompts)}) as office:
        listed = office.portal.call(office.client.list_prompts)
        (shown,) = [one for one in listed if one.name == "odd__p"]
        assert (shown.description, shown.arguments[0].description) == ("ab", "ab")


@pytest.mark.integration
def test_hosts_get_descriptions_without_hidden_characters(tmp_path: Path):
    texts = {"title": "Fi\x1bne", "description": "Read\u202e one\n\u200ecity\U000e0041"}
    schema = FINE["inputSchema"] | {
        "properties": {"a": {"description": "a\u2066b", "enum": ["c\u202ed"]}}
    }
    tool = FINE | texts | {"inputSchema": schema}
    with host(tmp_path, {"odd": raw_server([tool])}, pinned=["odd__fine"]) as office:
        until(lambda: "odd__fine" in [one.name for one in office.tools()])
        (listed,) = [one for one in office.tools() if one.name == "odd__fine"]
        assert (listed.title, listed.description) == ("Fine", "Read one\n\u200ecity")
        found = office.ask("search_tools", query="read one city")
        (shown,) = [one for one in found["tools"] if one["name"] == "odd__fine"]
        assert shown["description"] == "Read one\n\u200ecity"
        for properties in (listed.input_schema["properties"], shown["input_schema"]["properties"]):
            assert properties == {"a": {"description": "ab", "enum": ["c\u202ed"]}}
