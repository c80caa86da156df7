"""Servers that are slow, gone or restarted hold up no other; the gateway leaves nothing behind."""

import os
import pty
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.gateway.mcp.hosts import (
    SERVERS,
    cache_in,
    connected,
    host,
    listening,
    stdio_server,
    text_of,
    write,
)
from tests.support import PATIENCE_S, answers, environment, free_port, until

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
        missing = tmp_path / "no-such-program"
        assert f"missing: unavailable: its command {missing} does not exist" in said
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


# The gateway as a process: how it ends, and what it leaves behind.


def start(*arguments: str, folder: Path, stdin: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    with (folder / "stderr").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "toolscout", "mcp", *arguments],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment(**cache_in(folder)),
        )


def children(pid: int) -> list[Path]:
    """Return the processes that a process has started."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
    return [Path(f"/proc/{child}") for child in listed.split()]


def test_a_person_at_a_terminal_is_told_once_what_the_gateway_waits_for(tmp_path: Path):
    config = str(write(tmp_path, {"notes": stdio_server()}))
    ours, theirs = pty.openpty()
    with start("--config", config, folder=tmp_path, stdin=theirs) as process:
        os.close(theirs)
        until(lambda: b"notes: 8 tools" in (tmp_path / "stderr").read_bytes())
        process.send_signal(signal.SIGTERM)
    os.close(ours)
    said = (tmp_path / "stderr").read_text("utf-8")
    assert said.count("waiting for a host on standard input; --check shows the servers") == 1


def test_a_host_is_not_told_what_the_gateway_waits_for(tmp_path: Path):
    with host(tmp_path, {"notes": stdio_server()}) as office:
        assert office.found("list the notes")[0] == "notes__list_notes"
        assert "waiting for a host" not in office.stderr


@pytest.mark.parametrize("over", ["stdio", "http"])
def test_a_signal_ends_the_gateway_and_its_servers(tmp_path: Path, over: str):
    config = str(write(tmp_path, {"notes": stdio_server()}))
    port = free_port()
    more = ["--http", f"127.0.0.1:{port}"] if over == "http" else []
    process = start("--config", config, *more, folder=tmp_path)
    with process:
        until(lambda: b"notes: 8 tools" in (tmp_path / "stderr").read_bytes())
        if over == "http":
            until(lambda: answers(port))
            served = f"INFO serving http://127.0.0.1:{port}/mcp\n".encode()
            until(lambda: served in (tmp_path / "stderr").read_bytes())
        servers = children(process.pid)
        assert len(servers) == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        until(lambda: not any(server.exists() for server in servers))
    assert b"Traceback" not in (tmp_path / "stderr").read_bytes()


def test_a_call_that_is_open_at_a_signal_is_answered(tmp_path: Path):
    config = str(write(tmp_path, {"notes": stdio_server()}))
    command = ["-m", "toolscout", "mcp", "--config", config, "--http", "127.0.0.1:PORT"]
    with (
        listening(tmp_path, *command) as (url, process),
        connected(url, tmp_path) as office,
        ThreadPoolExecutor(1) as pool,
    ):
        until(lambda: not office.call("notes__list_notes").is_error)
        call = pool.submit(office.call, "notes__count_words", seconds=2.0)
        until(lambda: office.progress != [])
        process.send_signal(signal.SIGTERM)
        assert not call.result().is_error
        assert process.wait(PATIENCE_S) == 0


def test_an_address_that_is_taken_is_said_in_a_line(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        config = str(write(tmp_path, {"notes": stdio_server()}))
        with start("--config", config, "--http", address, folder=tmp_path) as process:
            assert process.wait(PATIENCE_S) == 2
    printed = (tmp_path / "stderr").read_text("utf-8")
    assert printed == f"toolscout: cannot listen at {address}: Address already in use\n"


def test_lines_that_are_no_messages_do_not_disturb_it_and_the_end_of_input_ends_it(tmp_path: Path):
    config = str(write(tmp_path, {"notes": stdio_server()}))
    deep = b'{"a":' * 5_000 + b"1" + b"}" * 5_000
    hello = (
        b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": '
        b'"2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}'
    )
    with start("--config", config, folder=tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (b"no json", b"\xff\xfe", b"[" * 100_000, deep, b"", hello):
            process.stdin.write(line + b"\n")
        process.stdin.flush()
        answers = iter(process.stdout.readline, b"")
        answer = next(line for line in answers if b'"id":1' in line)
        assert b'"serverInfo"' in answer
        until(lambda: b"notes: 8 tools" in (tmp_path / "stderr").read_bytes())
        servers = children(process.pid)
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
        assert servers
        until(lambda: not any(server.exists() for server in servers))
    assert b"Traceback" not in (tmp_path / "stderr").read_bytes()
