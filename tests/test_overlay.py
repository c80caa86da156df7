"""What an overlay changes: how tools are found and filtered, and nothing that a model is shown."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support import TOOLS, toolscout
from toolscout import Engine
from toolscout.contract.requests import Filters
from toolscout.index.cold import ColdCatalog
from toolscout.index.tool_list import ToolList
from toolscout.ranking.ask import Ask
from toolscout.ranking.pipeline import decide
from toolscout.tools.overlay import parse_overlay

CRYPTIC: dict[str, Any] = {"name": "op_17", "description": "Executes operation 17"}
OFFERED = [*TOOLS, CRYPTIC]
UMBRELLA = "do I need an umbrella"


def engine(folder: Path, rows: str, tools: list[dict[str, Any]] = OFFERED) -> Engine:
    file = folder / "overlay.toml"
    file.write_text(rows, "utf-8")
    return Engine(tools, overlay=file)


@pytest.mark.parametrize(
    "added", ['search_text = "umbrella, rain gear"', f'examples = ["{UMBRELLA}"]']
)
def test_a_tool_is_found_by_what_its_operator_adds(tmp_path: Path, added: str):
    assert "op_17" not in Engine(OFFERED).search(UMBRELLA).names
    found = engine(tmp_path, f'[[tool]]\nname = "op_*"\n{added}').search(UMBRELLA, explain=True)
    assert found.names[0] == "op_17"
    assert found.outcome == "match"
    reasons = {(each.via, each.term) for each in found.matches[0].reasons}
    assert ("overlay", "op_*") in reasons


@pytest.mark.parametrize("ranker", ["regex", "bm25", "okapi", "semantic", "hybrid"])
def test_every_ranker_searches_the_added_text(tmp_path: Path, ranker: Any):
    made = engine(tmp_path, '[[tool]]\nname = "op_17"\nsearch_text = "umbrella rental"')
    assert made.search("umbrella", ranker=ranker).names[:1] == ["op_17"]


def test_nothing_of_it_is_shown(tmp_path: Path):
    rows = '[[tool]]\nname = "op_17"\nsearch_text = "umbrella rental"\nexamples = ["hello there"]'
    adjusted = engine(tmp_path, rows)
    plain = Engine(OFFERED)
    assert adjusted.catalog.digest == plain.catalog.digest
    for detail in ("names", "brief", "full"):
        options: dict[str, Any] = {"detail": detail}
        shown = adjusted.search("op_17", **options).tools
        assert shown == plain.search("op_17", **options).tools


def test_a_pinned_tool_is_always_kept_and_a_hidden_one_never_selected(tmp_path: Path):
    rows = '[[tool]]\nname = "op_17"\npin = true\n[[tool]]\nname = "read_*"\nhide = true'
    made = engine(tmp_path, rows)
    assert made.search("weather in a city", top_k=2).names == ["get_weather", "op_17"]
    for pattern in ("read a text file from disk", "read_file"):
        found = made.search(pattern, always_keep=["read_file"])
        assert "read_file" not in found.names


def test_a_tool_is_not_selected_for_what_it_is_not_for(tmp_path: Path):
    asked = "open a bug report in the tracker"
    other = {"name": "file_bug", "description": "Open a bug report in the tracker"}
    made = engine(tmp_path, f'[[tool]]\nname = "file_bug"\nnot_for = ["{asked}"]', [*TOOLS, other])
    assert "file_bug" in Engine([*TOOLS, other]).search(asked).names
    assert made.search(asked).names[0] == "create_issue"
    assert "file_bug" not in made.search(asked).names
    assert made.search("file_bug").names[0] == "file_bug"


def test_filters_see_the_namespace_and_the_raised_risk(tmp_path: Path):
    rows = '[[tool]]\nname = "get_weather"\nnamespace = "sky"\nrisk = "destructive"'
    made = engine(tmp_path, rows)
    asked = "weather in a city"
    assert made.search(asked, filters=Filters(namespaces=("sky",))).names == ["get_weather"]
    harmless = made.search(asked, filters=Filters(max_risk="read_only"))
    assert "get_weather" not in harmless.names
    shown = made.search(asked, detail="brief").tools[0]
    assert (shown.namespace, shown.risk, shown.requires_confirmation) == (
        "sky",
        "destructive",
        True,
    )


def test_a_list_that_is_not_indexed_yet_has_the_same_words_pins_and_risks():
    rows = parse_overlay(
        """
        [[tool]]
        name = "op_17"
        search_text = "umbrella rental"
        [[tool]]
        name = "send_email"
        pin = true
        [[tool]]
        name = "read_*"
        hide = true
        [[tool]]
        name = "get_weather"
        risk = "destructive"
        """,
        "overlay.toml",
    )
    tools = ToolList.decode(msgspec.json.encode(OFFERED))
    cold = ColdCatalog(tools, overlay=rows.of("acme"))
    assert decide(cold, Ask(pattern="umbrella", top_k=2)).names == ["op_17", "send_email"]
    assert "read_file" not in decide(cold, Ask(pattern="read a text file")).names
    harmless = Ask(pattern="weather", filters=Filters(max_risk="read_only"))
    assert "get_weather" not in decide(cold, harmless).names


def test_many_rows_for_a_tool_are_explained_by_a_few(tmp_path: Path):
    patterns = ["op_17", "op_17", *(f"{'?' * wild}*" for wild in range(5))] * 20
    rows = "".join(f"[[tool]]\nname = '{one}'\nsearch_text = 'umbrella'\n" for one in patterns)
    wide = "".join(f"[[tool]]\nname = 'op{'*' * n}'\npin = true\n" for n in range(1, 40))
    (match, *_) = engine(tmp_path, rows + wide).search("umbrella", explain=True).matches
    written = [reason.term for reason in match.reasons if reason.field == "overlay"]
    assert written[:2] == ["op_17", "*"]
    assert len(written) == len(set(written)) == 16


def test_an_overlay_that_is_for_none_of_the_tools_changes_nothing(tmp_path: Path):
    made = engine(tmp_path, '[[tool]]\nname = "elsewhere_*"\nhide = true')
    plain = Engine(OFFERED)
    for asked in (UMBRELLA, "read a file", "op_17", "mail to somebody"):
        assert made.search(asked, explain=True) == plain.search(asked, explain=True)


def test_an_explanation_names_only_what_fits_the_tool(tmp_path: Path):
    rows = '[[tool]]\nname = ["op_17", "secret_project"]\nsearch_text = "umbrella rental"'
    found = engine(tmp_path, rows).search("umbrella", explain=True)
    assert "op_17" in str(found.matches)
    assert "secret_project" not in str(found.matches)


def test_many_rows_for_one_tool_are_within_the_bounds_of_one():
    rows = "".join(
        f'[[tool]]\nname = "*"\nsearch_text = "{"x" * 5_000}"\nnot_for = ["{number}"]\n'
        for number in range(40)
    )
    found = parse_overlay(rows, "overlay.toml").of("").find("any")
    assert found is not None
    assert (len(found.row.search_text), len(found.row.not_for)) == (8_192, 16)


def files(folder: Path, rows: str) -> list[str]:
    tools = folder / "tools.json"
    tools.write_bytes(msgspec.json.encode(OFFERED))
    overlay = folder / "overlay.toml"
    overlay.write_text(rows, "utf-8")
    return ["--tools", str(tools), "--overlay", str(overlay)]


def test_commands_read_it(tmp_path: Path):
    flags = files(tmp_path, '[[tool]]\nname = "op_17"\nsearch_text = "umbrella rental"')
    assert toolscout("search", "umbrella rental", *flags, "--top-k", "1").stdout == "op_17\n"
    questions = tmp_path / "questions.csv"
    questions.write_text("query,tools\numbrella rental,op_17\n", "utf-8")
    judged = toolscout("evaluate", *flags, "--questions", str(questions), "--min-recall", "1")
    assert judged.returncode == 0


def test_lint_names_rows_that_are_for_no_tool(tmp_path: Path):
    flags = files(tmp_path, '[[tool]]\nname = ["nobody_*", "none"]\npin = true')
    done = toolscout("lint", *flags, "--ignore", "says-nothing")
    assert "row 1: no tool is called nobody_* or none" in done.stderr
    assert done.returncode == 1


def test_a_service_has_an_overlay_of_its_own(tmp_path: Path):
    flags = files(tmp_path, "")
    done = toolscout("search", "a", *flags, "--url", "http://127.0.0.1:9")
    assert done.returncode == 2
    assert "--overlay: the service at --url has its own settings" in done.stderr


def test_settings_with_a_broken_overlay_are_refused(tmp_path: Path):
    flags = files(tmp_path, '[[tool]]\nname = "a"')[2:]
    done = toolscout("check-config", *flags)
    assert done.returncode == 2
    assert "line 1: adds nothing to these tools" in done.stderr
