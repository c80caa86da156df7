"""Folders of skills and subagents: what is found in them, and what is told of the rest."""

import logging
import os
from pathlib import Path

import pytest

from toolscout import Engine
from toolscout.errors import InvalidRequest
from toolscout.files import skills
from toolscout.files.reading import read_file
from toolscout.files.skills import read_skills
from toolscout.tools.file_entries import describe_file


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def write_skill(folder: Path, name: str, about: str = "Does something") -> Path:
    text = f"---\nname: {name}\ndescription: {about}\n---\n\n# {name}\nBody of it.\n"
    return write(folder / "SKILL.md", text)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder as Claude Code has it: a skill with files of its own, and a subagent."""
    folder = tmp_path / ".claude"
    write_skill(folder / "skills" / "pdf", "pdf", "Fill in forms")
    write(folder / "skills" / "pdf" / "reference.md", "---\nname: no\ndescription: no\n---\n")
    agent = "---\nname: reviewer\ndescription: Reviews code\ntools: Read, Grep\n---\nYou review.\n"
    write(folder / "agents" / "reviewer.md", agent)
    write(folder / "commands" / "fix.md", "---\ndescription: Fix it\n---\nFix $1\n")
    write(folder / "README.md", "# Mine\n")
    return folder


def test_a_skill_and_a_subagent_say_what_they_are_and_where(home: Path):
    reviewer, pdf = read_skills(home).entries
    assert describe_file(pdf["tags"], pdf["source"]) == f"skill: read {home}/skills/pdf/SKILL.md"
    about = describe_file(reviewer["tags"], reviewer["source"])
    assert about == f"subagent: read {home}/agents/reviewer.md"
    assert (pdf["name"], pdf["description"], pdf["risk"]) == ("pdf", "Fill in forms", "read_only")


def test_other_markdown_is_left_out_in_silence(home: Path):
    assert read_skills(home).flaws == []


def test_the_engine_finds_a_skill_by_the_beginning_of_its_text(home: Path):
    write(
        home / "skills" / "x" / "SKILL.md", "---\nname: x\ndescription: Y\n---\nKeep bees calm.\n"
    )
    assert Engine(home).search("bees").names == ["x"]


def test_hidden_folders_and_those_of_packages_are_skipped(home: Path):
    write_skill(home / ".git" / "a", "a")
    write_skill(home / "node_modules" / "b", "b")
    assert [one["name"] for one in read_skills(home).entries] == ["reviewer", "pdf"]


def test_links_are_not_followed_and_told(home: Path, tmp_path: Path):
    write_skill(tmp_path / "elsewhere", "outside")
    (home / "skills" / "link").symlink_to(tmp_path / "elsewhere")
    (home / "skills" / "file").mkdir()
    (home / "skills" / "file" / "SKILL.md").symlink_to(tmp_path / "elsewhere" / "SKILL.md")
    entries, flaws = read_skills(home)
    assert [one["name"] for one in entries] == ["reviewer", "pdf"]
    how = "1 link not followed: name the folders they lead to"
    assert flaws == [f"{home}/skills/link: {how}", f"{home}/skills/file/SKILL.md: {how}"]


def test_a_pipe_is_no_skill(home: Path):
    (home / "skills" / "pipe").mkdir()
    os.mkfifo(home / "skills" / "pipe" / "SKILL.md")
    assert len(read_skills(home).entries) == 2


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("---\nname: [a\n---\n", ":3:1: not valid YAML"),
        ("---\nname: a\ndescription: b\n", ":1: the frontmatter has no end"),
        ("---\n- name\n---\n", ":2: expected fields"),
        ("---\nname: a\n---\n", ":1: expected a name and a description"),
        ("---\nname: a\ndescription: [b]\n---\n", ":1: description: expected text"),
        ("---\nname: 123\ndescription: 456\n---\n", ":1: description: expected text"),
        ("# no frontmatter\n", ":1: expected a name and a description"),
        ("---\nname: a\ndescription: >\n  b\nx: y: z\n---\n", ":5:5: not valid YAML"),
        ("---\nname: a\ndescription: |- # c\n  b\nx: y: z\n---\n", ":5:5: not valid YAML"),
        ("---\nname: a\ndescription: b\n" + "x: y\n" * 20_000 + "---\n", "no end"),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_the_rest_is_kept(
    home: Path, text: str, flaw: str
):
    path = write(home / "skills" / "broken" / "SKILL.md", text)
    entries, flaws = read_skills(home)
    assert [one["name"] for one in entries] == ["reviewer", "pdf"]
    (told,) = flaws
    assert told.startswith(str(path))
    assert flaw in told


def test_frontmatter_that_is_no_yaml_is_read_as_hosts_read_it(home: Path):
    text = "---\nname: loose\ndescription: Use it when: always. Example: <x>\n---\n"
    path = write(home / "agents" / "loose.md", text)
    entries, flaws = read_skills(home)
    assert entries[0]["description"] == "Use it when: always. Example: <x>"
    assert flaws[0].startswith(f"{path}:3:")


@pytest.mark.parametrize(
    "name", ["", "name:\n", "name: ''\n", "name: 日本語\n", "name:\nx: y: z\n"]
)
def test_a_skill_without_a_name_of_letters_has_that_of_its_folder(home: Path, name: str):
    write(home / "skills" / "notes" / "SKILL.md", f"---\n{name}description: Takes notes\n---\n")
    assert [one["name"] for one in read_skills(home).entries] == ["reviewer", "notes", "pdf"]


@pytest.mark.parametrize("place", ["skills/日本語/SKILL.md", "agents/x.md"])
def test_a_name_of_no_letter_that_tools_may_have_is_told(home: Path, place: str):
    path = write(home / place, "---\nname: 日本語\ndescription: Takes notes\n---\n")
    entries, flaws = read_skills(home)
    assert [one["name"] for one in entries] == ["reviewer", "pdf"]
    assert flaws == [f"{path}:1: its name has no letter that a tool's name may have"]


@pytest.mark.parametrize("more", ["", "x: y: z\n"])
@pytest.mark.parametrize("said", ["true", "True # by hand", '"true"'])
def test_a_skill_that_is_not_for_models_is_left_out_and_told(home: Path, said: str, more: str):
    text = f"---\nname: ship\ndescription: Ships it\ndisable-model-invocation: {said}\n{more}---\n"
    path = write(home / "skills" / "ship" / "SKILL.md", text)
    entries, flaws = read_skills(home)
    assert [one["name"] for one in entries] == ["reviewer", "pdf"]
    assert flaws[-1] == f"{path}:1: left out, as its disable-model-invocation says"


def test_a_skill_that_is_for_models_by_its_field_is_there(home: Path):
    text = "---\nname: ship\ndescription: Ships it\ndisable-model-invocation: false\n---\n"
    write(home / "skills" / "ship" / "SKILL.md", text)
    assert [one["name"] for one in read_skills(home).entries] == ["reviewer", "pdf", "ship"]


def test_two_of_one_name_are_both_there_and_the_other_name_is_told(home: Path):
    again = write_skill(home / "skills" / "zzz", "pdf", "Another one")
    entries, flaws = read_skills(home)
    assert [one["name"] for one in entries] == ["reviewer", "pdf", "pdf_2"]
    assert flaws == [f"{again}:1: named pdf_2, for {home}/skills/pdf/SKILL.md has that name"]


def test_a_folder_that_is_named_twice_is_read_once(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(home)
    link = home.parent / "link"
    link.symlink_to(home / "skills")
    around = Path("skills", "pdf", "..")
    named = (Path(), Path("skills"), home, around, link)
    entries, flaws = read_skills(*named)
    assert [one["name"] for one in entries] == ["reviewer", "pdf"]
    assert flaws == []


def test_long_texts_and_windows_line_ends_are_read(home: Path):
    text = f"\ufeff---\r\nname: big\r\ndescription: {'d' * 9_000}\r\n---\r\n{'b' * 900_000}"
    write(home / "skills" / "big" / "SKILL.md", text)
    big = read_skills(home).entries[1]
    assert len(big["description"]) == skills.MAX_DESCRIPTION_CHARS
    assert big["keywords"] == ["b" * skills.SEARCHED_CHARS]


def test_the_number_of_entries_and_of_files_is_bounded(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(skills, "MAX_ENTRIES", 1)
    entries, flaws = read_skills(home)
    assert len(entries) == 1
    assert "left out, with all after it" in flaws[0]
    monkeypatch.setattr(skills, "MAX_SEEN", 3)
    assert "only the first 3 files were looked at" in read_skills(home).flaws[0]


@pytest.mark.parametrize("name", ["bad\udcff", "line\nbreak"])
def test_names_that_cannot_be_shown_are_left_out(home: Path, name: str):
    write_skill(home / "skills" / name, "odd")
    entries, (flaw,) = read_skills(home)
    assert [one["name"] for one in entries] == ["reviewer", "pdf"]
    assert flaw.isprintable()
    assert "a name that cannot be shown" in flaw


def test_of_many_broken_files_some_are_named(tmp_path: Path):
    for number in range(30):
        write(tmp_path / f"{number:02}" / "SKILL.md", "none")
    flaws = read_skills(tmp_path).flaws
    assert flaws[0].startswith(f"{tmp_path}/00/SKILL.md:1: ")
    assert flaws[skills.MAX_FLAWS :] == ["and 10 more"]


def test_folders_are_read_to_a_depth(tmp_path: Path):
    deep = tmp_path.joinpath(*"abcdefghi")
    write_skill(deep, "deep")
    write_skill(deep.parent / "other", "near")
    assert read_skills(tmp_path).entries == []
    assert [one["name"] for one in read_skills(tmp_path / "a").entries] == ["deep", "near"]


def test_a_folder_without_any_is_an_error(tmp_path: Path):
    with pytest.raises(InvalidRequest, match=r"there is no SKILL\.md in it"):
        read_file(tmp_path)


def test_a_command_logs_what_it_could_not_read(home: Path, caplog: pytest.LogCaptureFixture):
    write(home / "skills" / "a" / "SKILL.md", "none")
    with caplog.at_level(logging.WARNING, "toolscout"):
        read_file(home)
    assert "skills/a/SKILL.md:1" in caplog.text
