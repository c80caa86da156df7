"""`make prompt-cost` has a conversation in every way, with one's own tools."""

import json
import sys

import pytest

from tests.integration.proxies import python
from tests.support import ran

pytestmark = pytest.mark.integration


def test_deferred_tools_cost_less_and_all_are_found(tmp_path):
    tools = [
        {
            "name": f"{verb}_{thing}",
            "description": f"{verb.title()} a {thing} of the {place}. "
            + "It takes some words. " * 40,
            "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}},
        }
        for verb in ("create", "delete", "export", "rename", "archive", "print", "share", "copy")
        for thing, place in (
            *(("invoice", "shop"), ("branch", "repository"), ("calendar", "team")),
            *(("picture", "album"), ("customer", "list"), ("recipe", "kitchen")),
        )
    ]
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(tools))
    program = python().with_name("litellm")
    done = ran([sys.executable, "-m", "evals.prompt_cost", "--tools", file, "--litellm", program])
    lines = done.stdout.splitlines()
    assert "scripted model" in lines[0]
    rows = [line.strip("| ").split(" | ") for line in lines[2:]]
    assert all(row[-1] == "12 of 12" for row in rows)
    calls = [int(row[1]) for row in rows]
    cost = [int(row[-2].replace(",", "")) for row in rows]
    assert max(cost[1:]) < cost[0]
    assert cost[3] < cost[4]  # than with every find declared
    assert max(cost[5:7]) < cost[7]
    assert calls[5] <= 26 < calls[8]  # asked at every message, and at the first alone
    assert cost[5] < 1.05 * cost[8]  # fewer calls of the model cost hardly more
    assert max(cost[13:]) < cost[7]  # LiteLLM, by any interface
