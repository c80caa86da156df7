"""The first commands of README.md do what it shows."""

import json
import shlex
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


def test_the_search_finds_it(tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS), "utf-8")
    monkeypatch.chdir(tmp_path)
    sample, own = [one for one in commands() if one.startswith(".venv/bin/toolscout search")]
    assert main(shlex.split(sample)[1:]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "pr_open"
    assert main(shlex.split(own)[1:]) == 0
    assert "create_issue" in capsys.readouterr().out.splitlines()[1]


def test_the_questions_are_judged(tmp_path: Path, monkeypatch):
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS), "utf-8")
    (tmp_path / "questions.csv").write_text("query,tools\nread a file,read_file\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    (command,) = [one for one in commands() if one.startswith(".venv/bin/toolscout evaluate")]
    assert main(shlex.split(command)[1:]) == 0
    assert "read a file" not in (tmp_path / "report.html").read_text("utf-8")  # nothing is missed


def test_the_settings_are_accepted(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.delenv("TOOLSCOUT_DATA", raising=False)
    used = (" serve", " check-config")
    found = [one for one in commands() if any(f"bin/toolscout{use}" in one for use in used)]
    assert len(found) == 3
    for command in found:
        before, _, arguments = command.partition(".venv/bin/toolscout ")
        if before:
            name, _, value = shlex.split(before)[0].partition("=")
            monkeypatch.setenv(name, value + "k" * 32)
        assert main(["check-config", *shlex.split(arguments)[1:]]) == 0
