"""`evaluate --tune`: what gains on questions that it was not made from is written, nothing else."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import TOOLS, toolscout
from toolscout.commands.evaluation.questions import JudgedQuestion
from toolscout.commands.evaluation.tuning import compare, split
from toolscout.settings_sources import load

PLACES = ("Rome", "Paris", "Lima", "Oslo", "Bonn", "Kyiv", "Bern", "Riga", "Graz", "Cork")
HOURS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def files(folder: Path, questions: list[tuple[str, str]]) -> list[str]:
    tools = [*TOOLS, {"name": "op_17", "description": "Executes operation 17"}]
    (folder / "tools.json").write_text(json.dumps(tools), "utf-8")
    lines = [json.dumps({"query": query, "tool": tool}) for query, tool in questions]
    (folder / "questions.jsonl").write_text("\n".join(lines), "utf-8")
    paths = [str(folder / name) for name in ("tools.json", "questions.jsonl")]
    return ["--tools", paths[0], "--questions", paths[1], "--tune", str(folder / "tuned")]


def tune(flags: list[str], **settings: str) -> Any:
    return toolscout("evaluate", *flags, **settings)


def test_rows_that_help_other_questions_are_written_and_used_by_a_service(tmp_path: Path):
    asked = [(f"tune the piano of {who} at {hour}", "op_17") for who in PLACES for hour in HOURS]
    done = tune(files(tmp_path, asked))
    assert done.returncode == 0, done.stderr
    assert "overlay rows for 1 tool: right answers 0.0" in done.stdout
    assert "; worth it\n" in done.stdout
    written = tomllib.loads((tmp_path / "tuned" / "overlay.toml").read_text("utf-8"))
    (row,) = written["tool"]
    assert row["name"] == "op_17"
    assert set(row["examples"]) <= {query for query, _ in asked}
    settings = load({}, {}, tmp_path / "tuned" / "toolscout.toml")
    assert settings.overlay is not None
    assert Path(settings.overlay).is_file()


def log_of(tenant: str, questions: list[tuple[str, str]]) -> str:
    """Return the decision log of some turns, each with the tool that was called in it."""
    lines = []
    for number, (query, tool) in enumerate(questions):
        turn = f"t{number}"
        report = {"turn": turn, "tool": tool, "success": True}
        lines.append({"event": "search", "tenant": tenant, "turn": turn, "pattern": query})
        lines.append({"event": "feedback", "tenant": tenant, "reports": [report]})
    return "\n".join(map(json.dumps, lines))


@pytest.mark.parametrize(("tenant", "written"), [("acme", "acme"), ("anonymous", None), ("", None)])
def test_rows_from_the_log_of_a_tenant_are_for_it_alone(
    tmp_path: Path, tenant: str, written: str | None
):
    asked = [(f"tune the piano of {who} at {hour}", "op_17") for who in PLACES for hour in HOURS]
    flags = files(tmp_path, asked)
    (tmp_path / "questions.jsonl").write_text(log_of(tenant, asked), "utf-8")
    done = tune(flags)
    assert done.returncode == 0, done.stderr
    assert "; worth it\n" in done.stdout
    (row,) = tomllib.loads((tmp_path / "tuned" / "overlay.toml").read_text("utf-8"))["tool"]
    assert (row["name"], row.get("tenant")) == ("op_17", written)


def test_nothing_is_written_where_nothing_gains(tmp_path: Path):
    asked = [(f"weather in {place} at {hour}", "get_weather") for place in PLACES for hour in HOURS]
    done = tune(files(tmp_path, asked))
    assert done.returncode == 1
    assert "overlay rows: nothing is missed; keep" in done.stdout
    assert "no_match_below: needs questions that no tool answers; keep" in done.stdout
    assert "enough, for callers to ask for" in done.stdout
    assert list((tmp_path / "tuned").iterdir()) == []


def test_a_threshold_is_raised_where_nonsense_is_answered(tmp_path: Path):
    asked = [(f"weather in {place} at {hour}", "get_weather") for place in PLACES for hour in HOURS]
    asked += [(f"read the mind of {place} at {hour}", "") for place in PLACES for hour in HOURS]
    done = tune(files(tmp_path, asked))
    assert done.returncode == 0, done.stdout + done.stderr
    settings = load({}, {}, tmp_path / "tuned" / "toolscout.toml")
    assert settings.no_match_below > load({}, {}).no_match_below


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--url", "http://127.0.0.1:9"], "--url means nothing beside --tune"),
        (["--json"], "--json means nothing beside --tune"),
        (["--min-recall", ".9"], "--min_recall means nothing beside --tune"),
    ],
)
def test_flags_that_mean_nothing_are_refused(tmp_path: Path, more: list[str], said: str):
    done = tune([*files(tmp_path, [("a", "op_17")]), *more])
    assert done.returncode == 2
    assert said in done.stderr


def test_few_questions_and_files_that_are_there_are_refused(tmp_path: Path):
    flags = files(tmp_path, [("a", "op_17"), ("b", "op_17")])
    assert "expected 20 different questions in each half" in tune(flags).stderr
    (tmp_path / "tuned").mkdir(exist_ok=True)
    (tmp_path / "tuned" / "overlay.toml").write_text("kept", "utf-8")
    assert "overlay.toml is there already" in tune(flags).stderr
    assert (tmp_path / "tuned" / "overlay.toml").read_text("utf-8") == "kept"


@pytest.mark.parametrize("inside", ["", "x", "x/y"])
def test_a_file_in_place_of_the_folder_is_refused_before_anything_is_asked(
    tmp_path: Path, inside: str
):
    flags = files(tmp_path, [("a", "op_17")])
    file = tmp_path / "file"
    file.touch()
    done = tune([*flags, "--tune", str(file / inside)])
    assert done.returncode == 2
    assert f"tune: cannot make {file / inside}: " in done.stderr


def test_a_link_to_nowhere_in_place_of_the_folder_is_refused(tmp_path: Path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere" / "x")
    done = tune([*files(tmp_path, [("a", "op_17")]), "--tune", str(link)])
    assert (done.returncode, done.stdout) == (2, "")
    assert f"tune: cannot make {link}: " in done.stderr


@given(st.lists(st.text(min_size=1), unique=True, max_size=20), st.text(min_size=1))
def test_a_further_question_moves_no_other_to_the_other_half(queries: list[str], more: str):
    asked = [JudgedQuestion(query, ()) for query in queries]
    for before, after in zip(split(asked), split([*asked, JudgedQuestion(more, ())]), strict=True):
        assert set(before) <= set(after)


def test_doubles_of_a_question_judge_none_of_it(tmp_path: Path):
    marked = [(f"Tune the piano, invoice {number}{'!' * number}", "op_17") for number in range(60)]
    done = tune(files(tmp_path, marked))
    assert done.returncode == 2
    assert "expected 20 different questions in each half" in done.stderr


def test_what_finds_nothing_is_not_called_enough(tmp_path: Path):
    asked = [(f"sing {hour} songs of {place}", "op_17") for place in PLACES for hour in HOURS]
    tools = [{"name": "op_17", "description": "?"}, *TOOLS]
    flags = files(tmp_path, asked)
    (tmp_path / "tools.json").write_text(json.dumps(tools), "utf-8")
    printed = tune([*flags, "--ranker", "regex"]).stdout
    assert "top_k 5: too few tools are found to say; keep" in printed


def test_the_threshold_in_use_is_what_is_compared(tmp_path: Path):
    asked = [(f"weather in {place} at {hour}", "get_weather") for place in PLACES for hour in HOURS]
    asked += [(f"read the mind of {place} at {hour}", "") for place in PLACES for hour in HOURS]
    flags = files(tmp_path, asked)
    assert "no_match_below 0.30 to" in tune(flags, TOOLSCOUT_NO_MATCH_BELOW="0.3").stdout


def test_a_gain_within_its_error_is_none():
    assert not compare([0.0] * 30, [0.0] * 29 + [1.0]).is_sure
    assert compare([0.0] * 30, [1.0] * 15 + [0.0] * 15).is_sure
    assert not compare([1.0] * 30, [0.0] * 30).is_sure
