"""Completion, as the shells themselves complete."""

import os
import pty
import select
import shlex
import sys
import time
from pathlib import Path

import pytest

from tests import debian
from tests.support import PATIENCE_S, ran
from toolscout.cli import main
from toolscout.settings import SETTINGS

HERE = str(Path(sys.executable).parent)
PATH = f"{HERE}{os.pathsep}{os.environ['PATH']}"


def script(shell: str) -> str:
    """Return what `toolscout completion` prints."""
    done = ran([f"{HERE}/toolscout", "completion", shell])
    return done.stdout


def bash(line: str) -> list[str]:
    """Return what bash offers at the end of a line."""
    ask = (
        f"COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9; "
        "_python_argcomplete toolscout; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = ran(
        ["bash", "-c", f"{script('bash')}\n{ask}"], status=None, env=os.environ | {"PATH": PATH}
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands():
    assert bash("toolscout se") == ["serve", "search"]


def test_bash_completes_flags_and_what_they_take():
    offered = bash("toolscout serve --")
    assert {setting.flag for setting in SETTINGS if not setting.secret} <= set(offered)
    assert bash("toolscout serve --ranker r") == ["regex", "rrf"]
    assert bash("toolscout serve --mcp o") == ["on", "off"]
    assert bash("toolscout completion z") == ["zsh"]


def test_bash_completes_files(tmp_path: Path):
    (tmp_path / "tools.json").touch()
    assert bash(f"toolscout search x --tools {tmp_path}/to") == [f"{tmp_path}/tools.json"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_it(shell: str, capsys: pytest.CaptureFixture[str]):
    assert main(["completion", shell]) == 0
    assert "toolscout" in capsys.readouterr().out


@pytest.mark.integration
def test_fish_completes(tmp_path: Path):
    debian.need(fish="fish", recommended=False)
    file = tmp_path / "toolscout.fish"
    file.write_text(script("fish"), "utf-8")

    def offered(line: str) -> list[str]:
        done = ran(
            ["fish", "--no-config", "-c", f"source {file}; complete -C {shlex.quote(line)}"],
            status=None,
            cwd=tmp_path,
            env=os.environ | {"HOME": str(tmp_path), "PATH": PATH},
        )
        assert done.stderr == ""
        return [entry.partition("\t")[0] for entry in done.stdout.splitlines() if entry]

    assert sorted(offered("toolscout se")) == ["search", "serve"]
    assert offered("toolscout serve --rank") == ["--ranker"]
    assert sorted(offered("toolscout serve --ranker r")) == ["regex", "rrf"]
    assert offered("toolscout search x --tools tool") == ["toolscout.fish"]


@pytest.mark.integration
def test_zsh_completes(tmp_path: Path):
    debian.need(zsh="zsh", recommended=False)
    file = tmp_path / "completion.zsh"
    file.write_text(script("zsh"), "utf-8")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.environ.update(TERM="dumb", HOME=str(tmp_path), PS1="$ ", PATH=PATH)
        os.execvp("zsh", ["zsh", "-f", "-i"])
    try:
        os.write(
            terminal, f"autoload -U compinit; compinit -u; source {file}; echo re''ady\n".encode()
        )
        expect(terminal, b"ready")
        for typed, rest in {
            "toolscout sea\t": b"rch",
            "\x15toolscout serve --rank\t": b"er",
            "\x15toolscout serve --ranker hyb\t": b"rid",
        }.items():
            os.write(terminal, typed.encode())
            expect(terminal, rest)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def expect(terminal: int, text: bytes) -> None:
    """Read until a text has come."""
    seen, deadline = b"", time.monotonic() + PATIENCE_S
    while text not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 4_096)
