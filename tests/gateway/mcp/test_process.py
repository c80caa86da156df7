"""The gateway as a process: how it ends, and what it leaves behind."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gateway.mcp.hosts import cache_in, stdio_server, write
from tests.support import PATIENCE_S, answers, environment, free_port, until

pytestmark = pytest.mark.integration


def start(*arguments: str, folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "stderr").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "toolscout", "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment(**cache_in(folder)),
        )


def children(pid: int) -> list[Path]:
    """Return the processes that a process has started."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
    return [Path(f"/proc/{child}") for child in listed.split()]


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
        servers = children(process.pid)
        assert len(servers) == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        until(lambda: not any(server.exists() for server in servers))
    assert b"Traceback" not in (tmp_path / "stderr").read_bytes()


def test_an_address_that_is_taken_is_said_in_a_line(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        config = str(write(tmp_path, {"notes": stdio_server()}))
        with start("--config", config, "--http", address, folder=tmp_path) as process:
            assert process.wait(PATIENCE_S) == 1
    printed = (tmp_path / "stderr").read_text("utf-8")
    assert printed == f"ERROR cannot listen at {address}: Address already in use\n"


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
