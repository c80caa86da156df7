"""`make mcp-tokens` has an agent do twelve tasks over nine servers, within what is promised."""

import re
import sys
from pathlib import Path

import pytest

from tests import debian
from tests.support import environment, one_by_one, ran

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
INSTALL_S = 900
MOST_TOKENS, MOST_TURNS = 1_750, 3.1
# Of whom, the prompt at the start, turns and tokens of a task, and how many tasks were done.
ROW = r"^\| (.+?) \| [\d,]+ \| ([\d.]+) \| ([\d,]+) \| (\d+) of (\d+) \|$"


def test_all_tasks_are_done_in_few_turns_and_tokens():
    debian.need(recommended=False, node="nodejs", npm="npm", git="git")
    with one_by_one():
        command = [sys.executable, "-m", "evals.mcp_tokens"]
        printed = ran(command, cwd=ROOT, env=environment(), timeout=INSTALL_S).stdout
    rows = {
        name: (float(turns), int(tokens.replace(",", "")), int(done), int(tasks))
        for name, turns, tokens, done, tasks in re.findall(ROW, printed, re.MULTILINE)
    }
    turns, tokens, done, all_tasks = rows["`toolscout mcp`"]
    assert done == all_tasks == 12
    assert turns <= MOST_TURNS
    assert tokens <= MOST_TOKENS
    everything = next(row for name, row in rows.items() if name.startswith("all "))
    assert tokens < rows["fastmcp's search"][1] < everything[1]
