"""Completion, as the shells themselves complete."""

import os
import pty
import select
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from tests import debian
from tests.support import PATIENCE_S
from toolscout.cli import main, parser
from toolscout.completion import script
from toolscout.settings import SETTINGS


def bash(*words: str) -> list[str]:
    """What bash offers for the last of the words."""
    quoted = " ".join(map(shlex.quote, words))
    ask = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _toolscout"
    done = subprocess.run(
        ["bash", "-c", f"{script('bash', parser())}\n{ask}; printf '%s\\n' \"${{COMPREPLY[@]}}\""],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands():
    assert bash("toolscout", "se") == ["serve", "search"]


def test_bash_completes_flags_and_what_they_take():
    offered = bash("toolscout", "serve", "")
    assert {setting.flag for setting in SETTINGS if not setting.secret} <= set(offered)
    assert bash("toolscout", "serve", "--ranker", "r") == ["regex", "rrf"]
    assert bash("toolscout", "serve", "--mcp", "o") == ["on", "off"]
    assert bash("toolscout", "completion", "z") == ["zsh"]


def test_bash_leaves_files_to_itself():
    assert bash("toolscout", "search", "x", "--tools", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_it(shell: str, capsys: pytest.CaptureFixture[str]):
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == script(shell, parser())


@pytest.mark.integration
def test_fish_completes(tmp_path: Path):
    debian.need(fish="fish", recommended=False)
    file = tmp_path / "toolscout.fish"
    file.write_text(script("fish", parser()), "utf-8")

    def offered(line: str) -> list[str]:
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source {file}; complete -C {shlex.quote(line)}"],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=os.environ | {"HOME": str(tmp_path)},
        )
        assert done.stderr == ""
        return [entry.partition("\t")[0] for entry in done.stdout.splitlines()]

    assert sorted(offered("toolscout se")) == ["search", "serve"]
    assert offered("toolscout serve --rank") == ["--ranker"]
    assert sorted(offered("toolscout serve --ranker r")) == ["regex", "rrf"]
    assert offered("toolscout search x --tools tool") == ["toolscout.fish"]


@pytest.mark.integration
def test_zsh_completes(tmp_path: Path):
    debian.need(zsh="zsh", recommended=False)
    file = tmp_path / "completion.zsh"
    file.write_text(script("zsh", parser()), "utf-8")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.environ.update(TERM="dumb", HOME=str(tmp_path), PS1="$ ")
        os.execvp("zsh", ["zsh", "-f", "-i"])
    try:
        os.write(
            terminal, f"autoload -U compinit; compinit -u; source {file}; echo re''ady\n".encode()
        )
        expect(terminal, b"ready")
        for typed, whole in {
            "toolscout sea\t": b"search",
            "\x15toolscout serve --shad\t": b"--shadow-ranker",
            "\x15toolscout serve --shadow-ranker hyb\t": b"hybrid",
        }.items():
            os.write(terminal, typed.encode())
            expect(terminal, whole)
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
