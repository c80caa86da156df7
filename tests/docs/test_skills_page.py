"""The commands of the page on skills, with folders as Claude Code and Codex have them."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from tests.docs.commands import ROOT, commands
from tests.files.test_skills import write, write_skill
from tests.gateway.mcp.hosts import inside
from toolscout.cli import main

PAGE = ROOT / "docs" / "cookbook" / "skills.md"

pytestmark = pytest.mark.integration


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder with skills of both hosts, and a subagent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    write_skill(tmp_path / ".claude/skills/pdf-forms", "pdf-forms", "Fill in the forms of a PDF")
    write_skill(tmp_path / ".agents/skills/bees", "bees", "Keep bees over the winter")
    reviewer = "---\nname: reviewer\ndescription: Reviews code\ntools: Read\n---\nYou review.\n"
    write(tmp_path / ".claude/agents/reviewer.md", reviewer)
    return tmp_path


def test_the_commands_and_the_configuration_of_the_page_work(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    (written,) = re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    (home / "mcp.json").write_text(written, "utf-8")
    search, lint, check = [one for one in commands(PAGE) if one.startswith("toolscout ")]
    assert main(words_of(search)) == 0
    found = capsys.readouterr().out.splitlines()[0]
    assert found == f"pdf-forms  skill: read {home}/.claude/skills/pdf-forms/SKILL.md"
    assert found.replace(str(home), "/home/me") in PAGE.read_text("utf-8")
    assert main(words_of(lint)) in (0, 1)
    assert "cannot" not in capsys.readouterr().err
    assert main(words_of(check)) == 0
    assert re.search(r"^skills +ok +3 ", capsys.readouterr().out, re.M)
    with inside(home, json.loads(written)["mcpServers"]) as office:
        best = office.ask("search_tools", query="fill in a form")["tools"][0]
        assert best["source"].startswith(f"skill: read {home}/")


def words_of(command: str) -> list[str]:
    """Return the arguments of a command as a shell gives them."""
    return [os.path.expanduser(one) for one in shlex.split(command)[1:]]  # noqa: PTH111
