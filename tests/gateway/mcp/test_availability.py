"""Servers that are slow, gone, wrong or restarted hold up no other, and come back."""

import sys
from pathlib import Path

import pytest

from tests.gateway.mcp.hosts import SERVERS, host, listening, stdio_server, text_of
from tests.support import free_port, until


def test_servers_that_do_not_start_do_not_hold_up_the_others(tmp_path: Path):
    env = {"KEY": "sesame"}
    servers = {
        "notes": stdio_server(),
        "missing": {"command": str(tmp_path / "no-such-program"), "env": env},
        "talkative": {"command": "echo", "args": ["this is no JSON"], "env": env},
        "dead": {"url": f"http://127.0.0.1:{free_port()}/mcp?key=sesame", "headers": env},
    }
    with host(tmp_path, servers) as office:
        assert office.found("list the notes")[0] == "notes__list_notes"
        until(lambda: office.stderr.count("unavailable: ") >= 3)
        said = office.stderr
        assert "missing: unavailable: its command or its folder does not exist" in said
        assert "talkative: unavailable: its process has ended" in said
        assert "dead: unavailable: it cannot be reached at http://127.0.0.1" in said
        assert "sesame" not in said
        assert "Traceback" not in said


def test_a_server_that_is_slow_to_start_is_found_later(tmp_path: Path):
    servers = {"notes": stdio_server(), "slow": stdio_server(env={"START_S": "7"})}
    with host(tmp_path, servers) as office:
        first = office.names()
        assert "notes__list_notes" in first
        assert "slow__list_notes" not in first
        until(lambda: "slow__list_notes" in office.names())
        assert not office.call("slow__list_notes").is_error


def test_a_server_over_http_is_connected_again_whether_it_was_down_or_restarted(tmp_path: Path):
    port = free_port()
    command = [str(SERVERS / "notes.py"), str(port)]
    server = {"url": f"http://127.0.0.1:{port}/mcp", "headers": {"X-Key": "sesame-${NAME:-none}"}}
    with host(tmp_path, {"notes": server}) as office:
        for _ in range(2):  # the gateway keeps its session, which the second process does not know
            with listening(tmp_path, *command, port=port):
                until(lambda: not office.call("notes__list_notes").is_error)
                seen = office.call("notes__show_environment").structured_content
                assert seen is not None
                assert seen["x-key"] == "sesame-none"
        assert office.call("notes__list_notes").is_error
        until(lambda: "cannot be reached at" in text_of(office.call("notes__list_notes")))
        assert "notes__list_notes" in office.names()
        assert office.ask("tool_info", name="notes__list_notes")["status"] == "unavailable"
        assert office.found("list the notes") == []
        assert "sesame" not in office.stderr


def test_a_pinned_tool_that_appears_is_told_to_the_host(tmp_path: Path):
    with host(
        tmp_path, {"notes": stdio_server()}, "--pin", "notes__transcribe_shorthand"
    ) as office:
        assert "notes__transcribe_shorthand" not in {tool.name for tool in office.tools()}
        office.call("notes__learn_shorthand")
        until(lambda: office.told_of_changes > 0)
        assert "notes__transcribe_shorthand" in {tool.name for tool in office.tools()}


def test_a_call_that_takes_longer_than_its_server_may_is_ended(tmp_path: Path):
    with host(tmp_path, {"notes": stdio_server(timeout=300)}) as office:
        late = office.call("notes__count_words", seconds=600)
        assert late.is_error
        assert text_of(late) == "notes did not answer within 0.3 s"
        assert not office.call("notes__list_notes").is_error


@pytest.mark.parametrize(
    ("risk", "offered"),
    [
        ("read_only", {"list_notes"}),
        ("destructive", {"list_notes", "send_note", "erase_notebook"}),
    ],
)
def test_no_tool_of_a_higher_risk_is_offered(tmp_path: Path, risk, offered):
    allow = ["list_*", "send_*", "erase_*"]
    with host(tmp_path, {"notes": stdio_server(allow=allow)}, "--max-risk", risk) as office:
        names = {name.removeprefix("notes__") for name in office.names()}
        assert names == offered
        assert set(office.found("erase a notebook", max_results=50)) <= {
            f"notes__{name}" for name in offered
        }
        (call,) = (tool for tool in office.tools() if tool.name == "call_tool")
        assert call.annotations is not None
        assert call.annotations.read_only_hint is (risk == "read_only")
        erased = office.send("notes__erase_notebook", {"name": "diary"})
        assert erased.is_error
        assert ("there is no tool" in text_of(erased)) is (risk != "destructive")


def test_a_host_that_goes_away_ends_the_gateway_and_its_servers(tmp_path: Path):
    marker = tmp_path / "gone"
    server = f"import sys; sys.stdin.read(); open({str(marker)!r}, 'w')"
    with host(tmp_path, {"quiet": {"command": sys.executable, "args": ["-c", server]}}) as office:
        office.client.transport.keep_alive = False
    until(marker.exists)
