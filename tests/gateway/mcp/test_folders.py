"""Folders of skills and subagents behind the gateway: found as tools are, and read by a call."""

import json
from pathlib import Path

import pytest

from tests.files.test_skills import write as write_text
from tests.files.test_skills import write_skill
from tests.gateway.mcp.hosts import inside, raw_server, text_of, write
from tests.support import until
from toolscout.cli import main
from toolscout.gateway.mcp import connection

pytestmark = pytest.mark.integration

SCRIPT = "import pathlib\npathlib.Path('ran').touch()\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two skills."""
    write_skill(tmp_path / "mine" / "pdf", "pdf-forms", "Fill in the forms of a PDF")
    write_text(tmp_path / "mine" / "pdf" / "scripts" / "fill.py", SCRIPT)
    write_skill(tmp_path / "mine" / "bees", "bees", "Keep bees over the winter")
    return tmp_path


def test_a_search_says_what_an_entry_is_and_its_path_and_a_call_returns_its_text(folder: Path):
    path = folder / "mine" / "pdf" / "SKILL.md"
    with inside(folder, {"skills": {"folders": ["mine"]}}) as office:
        best = office.ask("search_tools", query="fill in a form")["tools"][0]
        assert best["name"] == "skills__pdf-forms"
        assert best["source"] == f"skill: read {path}"
        read = text_of(office.send(best["call"], {"name": best["name"]}))
        assert read == f"[skill: read {path}]\n{path.read_text('utf-8')}"
    assert not list(folder.rglob("ran"))


def test_further_finds_have_their_paths_in_their_lines(folder: Path):
    for number in range(6):
        about = f"Fill in form {number}: " + "words of it " * 60
        write_skill(folder / "mine" / f"form{number}", f"form{number}", f'"{about}"')
    with inside(folder, {"skills": {"folders": ["mine"]}}) as office:
        lines = office.ask("search_tools", query="fill in a form")["more"]
        assert lines[0].startswith("call_tool skills__")
        assert all(line.endswith("/SKILL.md]") for line in lines)


def test_deny_and_namespaces_hold_for_skills_and_other_servers_say_nothing_of_files(folder: Path):
    odd = {"name": "odd", "description": "Fill it", "inputSchema": {"type": "object"}}
    odd |= {"tags": ["skill"], "source": "/etc/passwd", "_meta": {"toolscout/file": {"source": 1}}}
    servers = {"skills": {"folders": ["mine"], "deny": ["bees"]}, "odd": raw_server([odd])}
    with inside(folder, servers) as office:
        assert office.names() == {"skills__pdf-forms", "odd__odd"}
        (shown,) = office.ask("search_tools", query="fill it", namespace="odd")["tools"]
        assert "source" not in shown


def test_a_folder_is_looked_at_again(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "LOOK_S", 0.01)
    with inside(folder, {"skills": {"folders": ["mine"]}}) as office:
        assert office.names() == {"skills__pdf-forms", "skills__bees"}
        write_skill(folder / "mine" / "new", "new")
        (folder / "mine" / "bees" / "SKILL.md").unlink()
        until(lambda: office.names() == {"skills__pdf-forms", "skills__new"})


def test_a_skill_that_has_gone_or_become_a_link_is_not_read(folder: Path):
    secret = write_text(folder / "secret", "a secret")
    with inside(folder, {"skills": {"folders": ["mine"]}}) as office:
        office.names()
        path = folder / "mine" / "pdf" / "SKILL.md"
        path.unlink()
        path.symlink_to(secret)
        read = office.call("skills__pdf-forms")
        assert read.is_error
        assert "search again" in text_of(read)


@pytest.mark.parametrize("replaced", ["area", "area/taxes"])
def test_a_skill_below_what_has_become_a_link_is_not_read(folder: Path, replaced: str):
    write_skill(folder / "mine" / "area" / "taxes", "taxes")
    write_skill(folder / "outside" / "area" / "taxes", "taxes", "OUTSIDE SECRET")
    with inside(folder, {"skills": {"folders": ["mine"]}}) as office:
        assert "Does something" in text_of(office.call("skills__taxes"))
        (folder / "mine" / replaced).rename(folder / "before")
        (folder / "mine" / replaced).symlink_to(folder / "outside" / replaced)
        read = office.call("skills__taxes")
        assert read.is_error
        assert "search again" in text_of(read)


def test_a_named_folder_may_be_a_link(folder: Path):
    (folder / "mine" / "named").symlink_to(folder / "outside")
    write_skill(folder / "outside" / "taxes", "taxes", "Not below")
    with inside(folder, {"skills": {"folders": ["mine", "mine/named"]}}) as office:
        assert "Not below" in text_of(office.call("skills__taxes"))


def test_a_long_text_is_cut_and_says_where_the_whole_is(folder: Path):
    path = folder / "mine" / "pdf" / "SKILL.md"
    path.write_text(path.read_text("utf-8") + "x" * 200_000, "utf-8")
    with inside(folder, {"skills": {"folders": ["mine"]}}) as office:
        read = text_of(office.call("skills__pdf-forms"))
        assert len(read) < 70_000
        assert read.endswith(f"[cut: read the whole in {path}]")


def test_check_names_broken_files_and_folders_that_are_not_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    broken = write_text(folder / "mine" / "broken" / "SKILL.md", "---\nname: [\n---\n")
    servers = {"skills": {"folders": ["mine"]}, "gone": {"folders": ["nowhere"]}}
    assert main(["mcp", "--config", str(write(folder, servers)), "--check"]) == 2
    printed = capsys.readouterr().out
    assert f"mcpServers.gone.folders: there is no folder {folder / 'nowhere'}" in printed
    assert f"{broken}:3:1: not valid YAML" in printed


def test_check_and_the_log_name_a_skill_whose_name_another_has(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    first = write_skill(folder / "mine" / "again", "pdf-forms")
    second = folder / "mine" / "pdf" / "SKILL.md"
    told = f"{second}:1: named pdf-forms_2, for {first} has that name"
    servers = {"skills": {"folders": ["mine"]}}
    assert main(["mcp", "--config", str(write(folder, servers)), "--check"]) == 0
    assert told in capsys.readouterr().out
    with inside(folder, servers) as office:
        assert "skills__pdf-forms_2" in office.names()
        assert f"skills: {told}" in office.stderr


def test_a_server_has_either_folders_or_a_command(folder: Path, capsys: pytest.CaptureFixture[str]):
    servers = {"skills": {"folders": ["mine"], "command": "x"}}
    assert main(["mcp", "--config", str(write(folder, servers)), "--check"]) == 2
    assert "expected either command or url, or folders, got several" in capsys.readouterr().err


def test_list_writes_skills_for_other_commands(folder: Path, capsys: pytest.CaptureFixture[str]):
    config = str(write(folder, {"skills": {"folders": ["mine"]}}))
    assert main(["mcp", "--config", config, "--list"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(tool["name"], tool["tags"]) for tool in listed] == [
        ("skills__bees", ["skill"]),
        ("skills__pdf-forms", ["skill"]),
    ]
