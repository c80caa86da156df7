"""No tool can take down the list it is in: odd letters, marks and digits, anywhere in it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolscout.index.compile as compiling
from tests.support import TOOLS, Server
from toolscout import Engine
from toolscout.contract.tools import Tool
from toolscout.tools.documents import Document, read_tool

MARKS = st.characters(categories=["Mn", "Mc", "Me"])
DIGITS = st.characters(categories=["Nd", "Nl", "No"])
LETTERS = st.sampled_from("aZéßЖΩאبअกກ天あ가ក၀𝓻ﷺ")
ODD = st.text(MARKS | DIGITS | LETTERS, min_size=1, max_size=12)


def odd_tool(text: str) -> dict[str, Any]:
    """Return a tool with a text in its name, description, tags and properties."""
    schema = {"type": "object", "properties": {text: {"type": "string", "description": text}}}
    return {
        "name": f"x{text}",
        "description": f"Does {text} {text}2",
        "tags": [text],
        "parameters": schema,
    }


@pytest.mark.parametrize(
    "name", ["n2\u0300\u0300", "2\u0300\u0300x", "a1\u0483\u20dd", "\u0663\u064b"]
)
def test_a_name_of_digits_and_marks_is_one_among_others(server: Server, name: str):
    tools = [*TOOLS, odd_tool(name)]
    for ranker in ("auto", "regex", "bm25", "semantic", "hybrid"):
        answer = server.search(pattern="raed a file", tools=tools, ranker=ranker, top_k=3)
        assert answer.status_code == 200
        assert "read_file" in answer.json()["selected_names"]
    stored = server.client.put("/v1/catalogs/odd", json={"tools": tools})
    assert stored.status_code in (200, 201)


@given(st.lists(ODD, min_size=1, max_size=4, unique=True), ODD)
def test_any_marks_and_digits_leave_the_other_tools_found(texts: list[str], pattern: str):
    engine = Engine([*TOOLS, *map(odd_tool, texts)])
    assert "read_file" in engine.search("raed a file", top_k=3).names
    engine.search(pattern)


def test_a_tool_that_cannot_be_compiled_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch):
    def fail_on_one(tool: Tool) -> Document:
        if tool.name == "broken":
            raise IndexError(tool.name)
        return read_tool(tool)

    monkeypatch.setattr(compiling, "read_tool", fail_on_one)
    result = Engine([*TOOLS, {"name": "broken"}]).search("read a file", explain=True)
    assert "read_file" in result.names
    assert result.counts.skipped == 1
    assert "'broken'" in result.notes[0]
