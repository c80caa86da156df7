"""`toolscout evaluate`: questions with known answers, judged in the engine and at a service."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import TOOLS, Server
from toolscout.cli import main

QUESTIONS = "query,tools\nread the text of a file,read_file\nqwxz vbnk trlp,\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    (tmp_path / "questions.csv").write_text(QUESTIONS)
    return tmp_path


def evaluate(folder: Path, *more: str, questions: str = "questions.csv") -> int:
    given = ["--tools", str(folder / "tools.json"), "--questions", str(folder / questions)]
    return main(["evaluate", *given, *more])


def verdict(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_found_and_refused_questions_are_counted(files: Path, capsys: Any):
    assert evaluate(files, "--json") == 0
    found = verdict(capsys)
    assert found["recall"] == {"1": 1.0, "3": 1.0, "5": 1.0}
    assert (found["questions"], found["impossible"], found["refused"]) == (2, 1, 1.0)
    assert found["tokens_shown"] < found["tokens_all"]
    assert found["misses"] == []


@pytest.mark.parametrize(
    ("query", "wanted", "why"),
    [
        ("qwxz vbnk trlp", "read_file", "no_match"),
        ("read_file", "get_weather", "name"),
        ("read the text of a file", "get_weather", "words"),
    ],
)
def test_a_miss_says_why(files: Path, capsys: Any, query: str, wanted: str, why: str):
    (files / "one.jsonl").write_text(json.dumps({"query": query, "tools": [wanted]}))
    assert evaluate(files, "--json", "--top-k", "1", questions="one.jsonl") == 0
    (miss,) = verdict(capsys)["misses"]
    assert (miss["wanted"], miss["why"]) == (wanted, why)


def test_a_miss_that_stands_below_names_its_place(files: Path, capsys: Any):
    wanted = {"query": "read the text of a file", "tools": ["read_file", "translate_text"]}
    (files / "one.jsonl").write_text(json.dumps(wanted))
    assert evaluate(files, "--json", "--top-k", "1", questions="one.jsonl") == 0
    (miss,) = verdict(capsys)["misses"]
    assert miss["why"] == "crowding"
    assert miss["rank"] > 1


def test_a_service_gives_the_same_figures(files: Path, capsys: Any, server: Server):
    evaluate(files, "--json")
    here = verdict(capsys)
    evaluate(files, "--json", "--url", server.url)
    assert verdict(capsys) == here


def test_too_low_a_recall_is_exit_status_1(files: Path, capsys: Any):
    (files / "one.jsonl").write_text('{"query": "read a file", "tools": ["get_weather"]}')
    assert evaluate(files, "--top-k", "1", "--min-recall", "0.9", questions="one.jsonl") == 1
    assert "R@1 is 0.000, below 0.9" in capsys.readouterr().err


def test_the_report_begins_with_what_came_of_the_questions(files: Path, capsys: Any):
    asked = [
        {"query": "read_file", "tools": ["read_file"]},
        {"query": "get_weather", "tools": ["get_weather", "send_email"]},
        {"query": "send_email", "tools": ["get_weather"]},
        {"query": "qwxz vbnk trlp", "tools": ["read_file"]},
        {"query": "wqzx knbv plrt", "tools": []},
        {"query": "resize_image", "tools": []},
    ]
    (files / "some.jsonl").write_text("\n".join(map(json.dumps, asked)))
    page = files / "page.html"
    evaluate(files, "--top-k", "1", "--html", str(page), questions="some.jsonl")
    said = "1 of 4 found; 1 answered with nothing; 1 of 2 unanswerable ones refused."
    assert capsys.readouterr().out.startswith(f"6 questions, {len(TOOLS)} tools: {said}\n")
    body = page.read_text().partition("</h1>")[2].lstrip()
    assert body.startswith(f'<p class="said">{said}</p>')


def test_money_is_shown_with_a_price(files: Path, capsys: Any):
    evaluate(files, "--price", "3")
    assert "$0.0" in capsys.readouterr().out


def test_the_page_holds_no_markup_of_tools(files: Path):
    hostile = '<script>alert("1")</script>'
    tools = [*TOOLS, {"name": hostile, "description": "x"}]
    (files / "tools.json").write_text(json.dumps(tools))
    (files / "one.jsonl").write_text(json.dumps({"query": hostile + " a", "tools": ["read_file"]}))
    evaluate(files, "--top-k", "1", "--html", str(files / "page.html"), questions="one.jsonl")
    page = (files / "page.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("query,tools\nread,raed_file\n", "questions.csv:2: there is no tool 'raed_file'"),
        ("query,tools\nread,raed_file\n", "did you mean read_file?"),
        ("name,tools\nx,y\n", "questions.csv:1: expected the columns query and tools"),
        ('{"query": "x"}', "questions.csv:1: there is no `tools`"),
        ('{"tools": ["read_file"]}', "questions.csv:1: there is no request"),
        ('{"query": "x", "tools": []}\n{broken', "questions.csv:2: not valid JSON"),
        ("[1]", "[0]: expected an object"),
        ("", "expected the columns query and tools"),
        ("query,tools\n", "there are no questions"),
        ("query,tools\nread,read_file,get_weather\n", "questions.csv:2: too many cells"),
        ('query,tools\n"read,read_file\nx,y\n', "questions.csv:2: not valid CSV"),
        ('"query,tools\nread,read_file\n', "questions.csv:1: not valid CSV"),
        ('{"query": "x", "tools": null}', "questions.csv:1: `tools` is neither"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    files: Path, capsys: Any, content: str, expected: str
):
    (files / "questions.csv").write_text(content)
    assert evaluate(files) == 2
    assert expected in capsys.readouterr().err


def test_names_with_spaces_and_quoted_lines_are_read(files: Path, capsys: Any):
    (files / "tools.json").write_text(json.dumps([*TOOLS, {"name": "Read Mail"}]))
    (files / "questions.csv").write_text('query,tools\n"read\nmail",Read Mail;read_file\n')
    assert evaluate(files, "--json") == 0
    assert verdict(capsys)["recall"]["5"] == 1.0


@pytest.mark.parametrize("name", ["Cut, then paste", "a|b", "a;b"])
def test_a_cell_that_is_the_name_of_a_tool_is_no_list(files: Path, capsys: Any, name: str):
    (files / "tools.json").write_text(json.dumps([*TOOLS, {"name": name}]))
    (files / "questions.csv").write_text(f'query,tools\n{TOOLS[0]["name"]},"{name}"\n')
    assert evaluate(files, "--json", "--top-k", "1") == 0
    assert [miss["wanted"] for miss in verdict(capsys)["misses"]] == [name]


QUERY = "read the text of a file"


def logged(folder: Path, *entries: object) -> str:
    (folder / "log").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return "log"


def search(turn: str = "t1", tenant: str = "default") -> dict[str, Any]:
    names = {"selected_names": ["get_weather"], "selected": 1}
    return {"event": "search", "tenant": tenant, "turn": turn, "pattern": QUERY, **names}


def called(tool: str, *, success: bool = True, tenant: str = "default") -> dict[str, Any]:
    report = {"tool": tool, "success": success, "turn": "t1"}
    return {"event": "feedback", "tenant": tenant, "reports": [report]}


def test_a_decision_log_asks_its_requests_for_what_was_called(files: Path, capsys: Any):
    failed, unknown = called("send_email", success=False), called("gone")
    log = logged(files, search(), called("read_file"), failed, unknown)
    assert evaluate(files, "--json", questions=log) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert (found["questions"], found["recall"]["1"]) == (1, 1.0)
    assert "3 uses in 4 lines" in printed.err
    assert "1 are left out: their tools are not in the file" in printed.err


def test_of_several_tenants_of_a_log_one_must_be_named(files: Path, capsys: Any):
    both = [
        each
        for of in ("acme", "beta")
        for each in (search(tenant=of), called("read_file", tenant=of))
    ]
    log = logged(files, *both)
    assert evaluate(files, questions=log) == 2
    assert "one of 'acme', 'beta'" in capsys.readouterr().err
    assert evaluate(files, "--json", "--tenant", "beta", questions=log) == 0


@pytest.mark.parametrize("command", ["evaluate", "lint"])
def test_tools_and_questions_cannot_both_be_standard_input(capsys: Any, command: str):
    assert main([command, "--tools", "-", "--questions", "-"]) == 2
    assert "only one file can be - (standard input)" in capsys.readouterr().err


def test_a_hashed_log_has_no_questions_and_says_so(files: Path, capsys: Any):
    log = logged(files, {"event": "search", "pattern_hash": "ab", "selected": 1})
    assert evaluate(files, questions=log) == 2
    said = capsys.readouterr().err
    assert "1 with hashed requests" in said
    assert "there are no questions in it" in said
