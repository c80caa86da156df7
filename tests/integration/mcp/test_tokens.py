"""`make mcp-tokens` counts what servers cost in a prompt, directly and behind the gateway."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.support import crowd, environment, ran

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]


def count(data: Path) -> str:
    command = [sys.executable, "-m", "evals.mcp_tokens", "--data", str(data)]
    done = ran(command, cwd=ROOT, env=environment())
    return done.stdout


def test_the_gateway_costs_a_fraction_of_its_servers(tmp_path: Path):
    (tmp_path / "catalogs").mkdir()
    (tmp_path / "catalogs" / "300.json").write_text(json.dumps(crowd(300)), "utf-8")
    figures = re.findall(r"\| ([\d,]+) \|", count(tmp_path))
    directly, behind, search, info = (int(figure.replace(",", "")) for figure in figures)
    assert 0 < behind + search + info < directly / 10


def test_without_catalogs_it_says_what_it_needs(tmp_path: Path):
    assert count(tmp_path).startswith("skipped: no catalogs")
