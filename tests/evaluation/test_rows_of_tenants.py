"""Overlay rows of one tenant: commands apply them to its questions, and say what they leave out."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import TOOLS, toolscout

ASKED = "tune the piano"
TOOL = {"name": "op_17", "description": "Executes operation 17"}
TURN = [
    {"event": "search", "tenant": "acme", "turn": "t", "pattern": ASKED, "selected_names": []},
    {
        "event": "feedback",
        "tenant": "acme",
        "reports": [{"turn": "t", "tool": "op_17", "success": True}],
    },
]


@pytest.fixture
def flags(tmp_path: Path) -> list[str]:
    """Return the flags of tools, questions and an overlay: two rows of acme, one of everybody."""
    (tmp_path / "tools.json").write_text(json.dumps([TOOL, *TOOLS]), "utf-8")
    asked = json.dumps({"query": ASKED, "tool": "op_17"})
    (tmp_path / "questions.jsonl").write_text(asked, "utf-8")
    rows = [
        f'[[tool]]\nname = "op_17"\ntenant = "acme"\nexamples = ["{ASKED}"]\n',
        '[[tool]]\nname = "read_file"\ntenant = "acme"\nrisk = "read_only"\n',
        '[[tool]]\nname = "read_file"\nsearch_text = "open"\n',
    ]
    (tmp_path / "overlay.toml").write_text("".join(rows), "utf-8")
    paths = {"tools": "tools.json", "questions": "questions.jsonl", "overlay": "overlay.toml"}
    return [part for flag, name in paths.items() for part in (f"--{flag}", str(tmp_path / name))]


def measure(*flags: str) -> tuple[Any, str]:
    """Return the share of wanted tools that come first, and what was said."""
    done = toolscout("evaluate", *flags, "--json")
    return json.loads(done.stdout)["recall"]["1"], done.stderr


def test_the_rows_of_a_tenant_are_measured_for_it_alone(flags: list[str]):
    assert measure(*flags, "--tenant", "acme") == (1.0, "")
    recall, said = measure(*flags)
    assert recall == 0.0
    assert "overlay.toml: 2 rows of a tenant are left out" in said
    recall, said = measure(*flags, "--tenant", "beta")
    assert recall == 0.0
    assert "overlay.toml: 2 rows of other tenants are left out" in said


def test_rows_that_a_log_proposes_are_measured_by_the_same_log(tmp_path: Path, flags: list[str]):
    log = tmp_path / "decisions.log"
    log.write_text("\n".join(map(json.dumps, TURN)), "utf-8")
    proposed = toolscout("suggest", "--log", str(log))
    (tmp_path / "overlay.toml").write_text(proposed.stdout, "utf-8")
    recall, said = measure(*flags, "--questions", str(log))
    assert recall == 1.0
    assert "left out" not in said


def test_a_search_and_a_lint_say_that_rows_are_left_out(flags: list[str]):
    tools, overlay = flags[:2], flags[4:]
    found = toolscout("search", ASKED, *tools, *overlay)
    assert "op_17" not in found.stdout
    assert "2 rows of a tenant are left out" in found.stderr
    assert "2 rows of a tenant are left out" in toolscout("lint", *flags).stderr
    assert "left out" not in toolscout("lint", *flags, "--tenant", "acme").stderr
    assert "left out" not in toolscout("lint", *tools, *overlay).stderr, "it asks nothing"


def test_one_row_is_one(tmp_path: Path, flags: list[str]):
    row = '[[tool]]\nname = "read_file"\ntenant = "acme"\nhide = true\n'
    (tmp_path / "overlay.toml").write_text(row, "utf-8")
    assert (
        "1 row of a tenant is left out"
        in toolscout("search", "read", *flags[:2], *flags[4:]).stderr
    )
