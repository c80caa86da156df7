"""Servers that are slow, gone, wrong or restarted hold up no other, and come back."""

from pathlib import Path

import pytest

from tests.gateway.mcp.hosts import SERVERS, host, listening, stdio_server, text_of
from tests.support import free_port, until

pytestmark = pytest.mark.integration


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


def test_no_tool_of_a_higher_risk_is_offered(tmp_path: Path):
    with host(tmp_path, {"notes": stdio_server()}, "--max-risk", "read_only") as office:
        names = office.names()
        assert "notes__list_notes" in names
        assert not {"notes__send_note", "notes__erase_notebook"} & names
        assert set(office.found("erase a notebook", top_k=50)) <= names
        (call,) = (tool for tool in office.tools() if tool.name == "call_tool")
        assert call.annotations is not None
        assert call.annotations.read_only_hint
        erased = office.send("notes__erase_notebook", {"name": "diary"})
        assert erased.is_error
        assert "there is no tool" in text_of(erased)
