"""What a person at a terminal sees, and what a file or a pipe gets."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.support import TOOLS, environment, ran

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]


def at_a_terminal(command: list[str], **variables: str) -> str:
    """Everything that a command writes to a terminal of 100 columns."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    env = environment(TERM="xterm", NO_COLOR="") | variables
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=its, stderr=its)
    os.close(its)
    seen = b""
    try:
        while piece := os.read(ours, 65_536):
            seen += piece
    except OSError:  # how Linux says that nobody writes any more
        pass
    finally:
        os.close(ours)
        process.wait()
    return seen.decode("utf-8", "replace")


LOAD = [sys.executable, "-m", "loadtests", "--seconds", "2", "--users", "4", "--host"]


def test_load_shows_its_progress_on_a_terminal_only(tmp_path: Path):
    command = [*LOAD, "http://127.0.0.1:9", "--out", str(tmp_path)]
    assert "load:  50%" in at_a_terminal(command)
    done = ran(command, status=None, cwd=ROOT, env=environment())
    assert "load:" not in done.stderr


def test_a_search_is_coloured_on_a_terminal_that_wants_it(tmp_path: Path):
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS), "utf-8")
    command = [sys.executable, "-m", "toolscout", "search", "read a file", "--explain"]
    command += ["--tools", str(tools)]
    assert "\x1b[1mread_file\x1b[0m" in at_a_terminal(command)
    assert "\x1b" not in at_a_terminal(command, NO_COLOR="1")
    done = ran(command, env=environment())
    assert "\x1b" not in done.stdout
