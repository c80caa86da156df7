"""Skills: folders with a SKILL.md, found beside tools and read through one more tool."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.gateway.mcp.hosts import Host, inside, stdio_server, text_of
from tests.support import Process, until
from toolscout.cli import main
from toolscout.gateway.mcp import skills as module
from toolscout.gateway.mcp.skills import SkillError, Skills

FORMS = "Fill in the forms of a PDF. Use it when somebody has to sign a form."
SECRET = "a text that nobody may read"


def skill(folder: Path, content: str = "", **front: str) -> Path:
    """Write a skill, and return its folder."""
    folder.mkdir(parents=True)
    lines = [f"{key}: {value}" for key, value in front.items()]
    text = "\n".join(["---", *lines, "---", content]) if front else content
    (folder / "SKILL.md").write_text(text, "utf-8")
    return folder


def read(folder: Path) -> Skills:
    found = Skills()
    found.problems = found.use([str(folder)])  # type: ignore[attr-defined]
    return found


def problems(folder: Path) -> list[str]:
    found = Skills()
    return found.use([str(folder)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two skills."""
    forms = skill(
        tmp_path / "skills" / "pdf", "# Forms\n\nSee more.md", name="pdf-forms", description=FORMS
    )
    (forms / "more.md").write_text("more about forms", "utf-8")
    skill(tmp_path / "skills" / "office" / "letters", "# Letters\n\nHow to write\na letter.\n\nX")
    return tmp_path / "skills"


@pytest.fixture
def office(tmp_path: Path, folder: Path) -> Iterator[Host]:
    with inside(tmp_path, {"notes": stdio_server()}, skills=["skills"]) as started:
        until(lambda: started.names() != set())
        yield started


def test_front_matter_or_the_first_paragraph_says_what_a_skill_is_for(folder: Path):
    found = read(folder).by_name
    assert {name: one.description for name, one in found.items()} == {
        "pdf-forms": FORMS,
        "letters": "How to write a letter.",
    }
    assert found["pdf-forms"].document["kind"] == "skill"


@pytest.mark.parametrize(
    ("front", "description"),
    [
        ("description: >\n  Two\n  lines\n", "Two lines"),
        ('description: "a: b"\n', "a: b"),
        ("description: 2048\n", "2048"),
        ("description: null\n", "Text"),
        ("description:\n", "Text"),
        ("license: MIT\nmetadata: {a: [1, 2]}\n", "Text"),
        ("", "Text"),
    ],
)
def test_front_matter_of_any_form_is_read(tmp_path: Path, front: str, description: str):
    (skill(tmp_path / "x") / "SKILL.md").write_text(f"\ufeff---\r\n{front}---\n\n# T\nText\n")
    assert read(tmp_path).by_name["x"].description == description


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\ndescription: Use it: now\n---\n", "front matter, line 2: mapping values"),
        ("---\n- a\n---\nText", "expected `name` and `description`"),
        ("---\ndescription: [a]\n---\n", "neither a description nor a paragraph"),
        ("---\nname: ../up\n---\nText", "its name has other characters"),
        ("---\nname: notes__list_notes\n---\nText", "its name has other characters"),
        (f"---\nname: {'x' * 65}\n---\nText", "its name has other characters"),
        ("---\nname: |\n  a\n  b\x07\n---\nText", "front matter: no YAML"),
        ("# Heading\n\n## Another\n", "neither a description nor a paragraph"),
        ("", "neither a description nor a paragraph"),
        ("---\nname: x\n", None),
        (f"---\ndescription: {'[' * 30_000}\n---\nText", "front matter"),
    ],
)
def test_a_bad_skill_is_named_and_the_others_are_read(tmp_path: Path, text: str, why: str | None):
    skill(tmp_path / "good", "Text")
    skill(tmp_path / "odd", text)
    found = Skills()
    lines = found.use([str(tmp_path)])
    assert "good" in found.by_name
    if why is None:
        assert "odd" in found.by_name
    else:
        (line,) = lines
        assert line.startswith(f"{tmp_path}/odd: ")
        assert why in line


def test_what_yaml_could_do_is_not_done(tmp_path: Path):
    levels = ["a0: &a0 {k: v}"]
    levels += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 40)]
    skill(tmp_path / "bomb", "Text", x="1\n" + "\n".join(levels))
    skill(tmp_path / "tag", "Text", description="!!python/object/apply:os.system [exit]")
    skill(tmp_path / "deep", "Text", x="[" * 20_000 + "]" * 20_000)
    skill(tmp_path / "deep-keys", "Text", x="? " * 20_000)
    found = {name: one.description for name, one in read(tmp_path).by_name.items()}
    assert found == dict.fromkeys(("bomb", "tag", *(found.keys() - {"bomb", "tag"})), "Text")
    assert len(found) + len(problems(tmp_path)) == 4


def test_bytes_that_are_no_text_and_names_that_cannot_be_shown_are_named(tmp_path: Path):
    (skill(tmp_path / "bytes") / "SKILL.md").write_bytes(b"\xff\xfe")
    skill(tmp_path / "a\nb\x1b[31m", "Text")
    lines = problems(tmp_path)
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)


def test_of_two_with_one_name_the_first_counts(tmp_path: Path):
    skill(tmp_path / "a", "First", name="x")
    skill(tmp_path / "b", "Second", name="x")
    assert read(tmp_path).by_name["x"].description == "First"
    (line,) = problems(tmp_path)
    assert line == f"{tmp_path}/b: {tmp_path}/a has the same name"


def test_a_large_file_is_found_by_its_beginning_and_not_given(tmp_path: Path):
    size = module.MAX_FILE_BYTES
    skill(tmp_path / "large", "Ä" * size, name="large", description="Large")
    found = read(tmp_path).by_name["large"]
    assert found.description == "Large"
    with pytest.raises(SkillError, match="larger than 256 KiB"):
        found.read()


def test_no_more_folders_than_some_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_FOLDERS", 3)
    for number in range(9):
        skill(tmp_path / f"s{number}", "Text")
    assert set(read(tmp_path).by_name) == {"s0", "s1"}
    assert "only the first 3 folders" in problems(tmp_path)[0]


def test_hidden_folders_and_those_of_a_skill_are_not_searched(tmp_path: Path):
    skill(tmp_path / "x", "Text")
    skill(tmp_path / "x" / "inner", "Text")
    skill(tmp_path / ".git" / "y", "Text")
    assert set(read(tmp_path).by_name) == {"x"}


def test_links_lead_nowhere(tmp_path: Path):
    outside = skill(tmp_path / "outside", SECRET)
    root = tmp_path / "skills"
    inner = skill(root / "x", "Text")
    (root / "link").symlink_to(outside)
    (inner / "file").symlink_to(outside / "SKILL.md")
    (inner / "folder").symlink_to(outside)
    (inner / "loop").symlink_to("loop")
    os.mkfifo(inner / "pipe")
    (root / "y").mkdir()
    (root / "y" / "SKILL.md").symlink_to(outside / "SKILL.md")
    found = read(root).by_name
    assert set(found) == {"x"}
    assert [line.partition(": ")[0] for line in problems(root)] == [f"{root}/link", f"{root}/y"]
    for path in (
        "file",
        "folder/SKILL.md",
        "loop",
        "pipe",
        ".",
        "",
        "../y/SKILL.md",
        "no",
        "a\0b",
        str(outside / "SKILL.md"),
        "../../outside/SKILL.md",
        "x" * 5_000,
    ):
        with pytest.raises(SkillError, match="no such file"):
            found["x"].read(path)
    (inner / "inside").symlink_to("SKILL.md")
    assert found["x"].read("inside") == "Text"


def test_a_search_finds_skills_beside_tools_and_says_how_to_read_them(office: Host):
    answer = office.ask("search_tools", query="fill in the form of a pdf and sign it")
    assert answer["skills"][0] == f"read_skill pdf-forms: {FORMS.partition('. ')[0]}."
    answer = office.ask("search_tools", query="send a note to everybody", top_k=3)
    assert len(answer["tools"]) + len(answer.get("more", ())) == 3
    assert answer["tools"][0]["name"] == "notes__send_note"
    assert "skills" not in office.ask("search_tools", query="forms of a pdf", namespace="notes")


def test_a_skill_and_the_files_of_its_folder_are_read(office: Host):
    assert text_of(office.send("read_skill", {"name": "pdf-forms"})).startswith("---\nname: pdf")
    more = {"name": "pdf-forms", "path": "more.md"}
    assert text_of(office.send("read_skill", more)) == "more about forms"


def test_what_cannot_be_read_is_said(office: Host):
    for call, said in (
        ({"name": "pdf-form"}, "there is no skill of this name; near: pdf-forms"),
        ({"name": "notes__list_notes"}, "there is no skill of this name"),
        ({"name": "pdf-forms", "path": "../../mcp.json"}, "there is no such file in the folder"),
        ({"name": "pdf-forms", "path": "/etc/passwd"}, "there is no such file in the folder"),
        ({"name": "pdf-forms", "path": 5}, "path: expected text"),
        ({}, "`name` is missing"),
    ):
        result = office.send("read_skill", call)
        assert result.is_error
        assert said in text_of(result)


def test_a_skill_is_no_tool(office: Host):
    assert office.names() == {name for name in office.names() if name.startswith("notes__")}
    refused = office.call("pdf-forms")
    assert refused.is_error
    assert text_of(refused).endswith("near: read_skill pdf-forms")
    (error,) = office.ask("search_tools", names=["pdf-forms"])["errors"]
    assert error["suggestions"] == ["read_skill pdf-forms"]


def test_a_skill_that_was_read_is_found_earlier(tmp_path: Path):
    for name in ("customers", "suppliers"):
        skill(tmp_path / "s" / name, "Write letters")
    with inside(tmp_path, {"notes": stdio_server()}, "--skills", str(tmp_path / "s")) as office:
        query = {"query": "write a letter"}
        before = office.ask("search_tools", **query)["skills"]
        assert [line.split()[1] for line in before] == ["customers:", "suppliers:"]
        for _ in range(3):
            office.ask("search_tools", **query)
            office.send("read_skill", {"name": "suppliers"})
        assert office.ask("search_tools", **query)["skills"] == before[::-1]


def test_skills_that_come_and_go_are_noticed(office: Host, folder: Path):
    assert "read_skill" in {tool.name for tool in office.tools()}
    skill(folder / "knots", "Tie knots into a rope")
    search = {"query": "tie a knot into a rope"}
    until(lambda: "read_skill knots: " in str(office.ask("search_tools", **search)))
    (folder / "knots" / "SKILL.md").write_text("New text", "utf-8")
    assert text_of(office.send("read_skill", {"name": "knots"})) == "New text"
    folder.rename(folder.with_name("gone"))
    until(lambda: "read_skill" not in {tool.name for tool in office.tools()})
    until(lambda: office.told_of_changes > 0)
    assert "skills: there is no such folder" in office.stderr.replace(f"{folder}", "skills")


def test_without_skills_there_is_no_tool_to_read_them(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with inside(tmp_path, {"notes": stdio_server()}, "--skills", str(tmp_path / "empty")) as host:
        assert "read_skill" not in {tool.name for tool in host.tools()}
        assert host.send("read_skill", {"name": "x"}).is_error


@pytest.fixture
def load(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run `toolscout import`; returns the exit status and what was printed."""

    def load(*flags: str) -> tuple[int, str, str]:
        status = main(["import", "--catalog", "desk", *flags])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return load


@pytest.mark.integration
def test_skills_are_registered_beside_tools(
    server: Process, tmp_path: Path, folder: Path, load: Callable[..., tuple[int, str, str]]
):
    skill(folder / "bad")
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"notes": stdio_server(allow=["list_*"])}}))
    flags = ("--url", server.url, "--skills", str(folder))
    status, printed, wrong = load(*flags)
    assert (status, printed.splitlines()[0]) == (0, "desk: 0 tools, 2 skills")
    assert f"{folder}/bad: it has neither" in wrong
    status, printed, _ = load(*flags, "--mcp", str(config))
    assert printed.splitlines() == ["desk: 1 tools, 2 skills", "added: notes__list_notes"]
    counts = {"tool": 1, "skill": 1}
    found = server.names("fill in a pdf form", catalog="desk", top_k_by_kind=counts)
    assert sorted(found) == ["notes__list_notes", "pdf-forms"] or found == ["pdf-forms"]


def test_an_import_of_nothing_is_refused(tmp_path: Path, load: Callable[..., tuple[int, str, str]]):
    status, _, wrong = load()
    assert status == 2
    assert "expected --mcp FILE, --skills DIR or both" in wrong
    status, _, wrong = load("--skills", str(tmp_path / "none"))
    assert status == 2
    assert f"{tmp_path}/none: there is no such folder" in wrong
    assert "skills: there is none in these folders" in wrong
