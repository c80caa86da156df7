"""`make mcp-tokens` has an agent do tasks over nine servers, within what is promised."""

import re
import sys
from pathlib import Path

import pytest

from tests import debian
from tests.support import environment, one_by_one, ran

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
INSTALL_S = 900
# Of whom, the prompt at the start, turns and tokens of a task, and how many tasks were done.
ROW = r"^\| (.+?) \| [\d,]+ \| ([\d.]+) \| ([\d,]+) \| (\d+) of 12 \|$"
# Of the gateway: tasks done at least, turns and tokens at most.
BOUNDS = {"in people's words": (10, 3.3, 2_300), "that its texts were tuned on": (12, 3.1, 1_750)}


def test_tasks_are_done_in_few_turns_and_tokens():
    debian.need(recommended=False, node="nodejs", npm="npm", git="git")
    with one_by_one():
        command = [sys.executable, "-m", "evals.mcp_tokens"]
        printed = ran(command, cwd=ROOT, env=environment(), timeout=INSTALL_S).stdout
    tables = printed.split("Tasks that the gateway's texts were tuned on:")
    for table, (least, most_turns, most_tokens) in zip(tables, BOUNDS.values(), strict=True):
        rows = {
            name: (float(turns), int(tokens.replace(",", "")), int(done))
            for name, turns, tokens, done in re.findall(ROW, table, re.MULTILINE)
        }
        turns, tokens, done = rows["`toolscout mcp`"]
        assert done >= max(least, rows["fastmcp's search"][2])
        assert turns <= most_turns
        assert tokens <= most_tokens
        everything = next(row for name, row in rows.items() if name.startswith("all "))
        assert tokens < rows["fastmcp's search"][1] < everything[1]
        assert everything[2] == 12
