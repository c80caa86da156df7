"""The first commands of README.md do what it shows."""

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.readme import blocks, commands
from tests.support import TOOLS, Process, ran
from toolscout.cli import main


def test_the_first_answer_is_the_one_shown(server: Process):
    command = next(block for block in blocks("sh") if block.startswith("curl"))
    done = ran(["sh", "-c", command.replace("http://127.0.0.1:8080", server.url)])
    assert done.stdout == blocks("json")[0].strip()


def test_the_library_finds_it():
    code = next(block for block in blocks("python") if "Engine" in block)
    *lines, last = code.strip().splitlines()
    names: dict[str, Any] = {"tools": TOOLS}
    exec("\n".join(lines), names)
    assert eval(last, names)[0] == "create_issue"


def test_the_commands_of_the_first_thirty_seconds_work_as_written(
    tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    names = ("search", "init", "evaluate")
    first = [one for one in commands() if shlex.split(one)[1:2] and shlex.split(one)[1] in names]
    printed = []
    for command in first:
        assert main(shlex.split(command)[1:]) == 0
        printed.append(capsys.readouterr().out)
    sample, _, own, judged = printed
    assert sample.splitlines()[0] == "pr_open"
    assert "issue_create" in own.splitlines()[1]
    assert "R@5                      1.000" in judged
    assert (tmp_path / "report.html").is_file()


def test_the_line_that_runs_the_image_starts_a_service_for_this_machine_alone(monkeypatch):
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    image = re.findall(r"(TOOLSCOUT_\w+)=(\S+)", (root / "Dockerfile").read_text("utf-8"))
    for name, value in image:
        monkeypatch.setenv(name, value)
    assert main(["check-config"]) == 2  # it listens for others, and has no key
    (line,) = [one for one in commands() if one.startswith("docker run ")]
    words = shlex.split(line)
    assert words[words.index("-p") + 1].startswith("127.0.0.1:")
    for name, value in re.findall(r"-e (\w+)=(\S+)", line):
        monkeypatch.setenv(name, value)
    assert main(["check-config"]) == 0


def test_the_key_is_made_and_the_settings_are_accepted(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.delenv("TOOLSCOUT_DATA", raising=False)
    (line,) = [one for one in commands() if one.startswith("export ")]
    made = line.replace(".venv/bin/python", shlex.quote(sys.executable))
    key = ran(["sh", "-c", f'{made}; printf %s "$TOOLSCOUT_API_KEYS"']).stdout
    monkeypatch.setenv("TOOLSCOUT_API_KEYS", key)
    used = tuple(f".venv/bin/toolscout {use}" for use in ("serve", "check-config"))
    found = [one for one in commands() if one.startswith(used)]
    assert len(found) == 3
    for command in found:
        assert main(["check-config", *shlex.split(command)[2:]]) == 0
