"""Odd tools, patterns and requests get an answer too, and take down nothing beside them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import TOOLS, Server, select
from toolscout import Engine
from toolscout.contract.tools import Tool
from toolscout.index import compiled_tool
from toolscout.tools.documents import Document, read_at

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
    def fail_on_one(tool: Tool, place: int) -> Document:
        if tool.name == "broken":
            raise IndexError(tool.name)
        return read_at(tool, place)

    monkeypatch.setattr(compiled_tool, "read_at", fail_on_one)
    result = Engine([*TOOLS, {"name": "broken"}]).search("read a file", explain=True)
    assert "read_file" in result.names
    assert result.counts.skipped == 1
    assert "'broken'" in result.notes[0]


# No pattern is an error: long, broken, hostile or meaningless ones get an answer too.


RANKERS = ["auto", "regex", "bm25", "semantic", "hybrid"]


PATTERNS = r"""
( ) [ a{ a{1001} * +? \ (?P<x (?<=look)behind (?i)(?z) \1 \p{Greek} [[:alpha:]]+ ^$ | || a||b . .*
(a+)+$ (a|a)*b ((a{1,100}){1,100}){1,100} %s%d{0}{name}${TOKEN} <script>alert(1)</script> {} null
𝓻𝓮𝓪𝓭 天気予報 اقرأ
""".split()
PATTERNS += ["(x+x+)+y" * 50, "'; DROP TABLE tools; --", "\0", "\0read\0file", "\ufeff read"]
PATTERNS += ["\u202eelif daer", "e\u0301" * 100, "🔥" * 50, "ﷺ" * 300, "a" * 4_096, "a" * 100_000]
PATTERNS += ["\U0010ffff", "read " * 50_000, " " * 5_000 + "read a file", "read\nfile\r\n\tnow"]


@pytest.mark.parametrize("ranker", RANKERS)
def test_odd_patterns_are_answered(server: Server, ranker: str):
    for pattern in PATTERNS:
        response = server.search(pattern, ranker=ranker, always_keep=["send_email"], explain=True)
        assert response.status_code == 200, response.text
        body = response.json()
        assert set(body["selected_names"]) <= {tool["name"] for tool in TOOLS}
        assert (body["selected_names"] == []) == (body["outcome"] == "no_match")


@given(pattern=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_any_text_is_answered(server: Server, pattern: str):
    response = server.search(pattern)
    assert response.status_code == (200 if pattern.strip() else 422), response.text


@given(st.from_regex(r"[a-z.*+?|()\[\]{}^$\\0-9,]{1,40}", fullmatch=True))
def test_anything_like_a_regex_is_answered(pattern: str):
    for ranker in ("regex", "auto"):
        names = select(TOOLS, pattern, ranker=ranker).names
        assert len(names) == len(set(names)) <= 5


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("length", [4_000, 20_000, 600_000])
def test_the_beginning_and_the_end_of_a_long_request_rank(server: Server, ranker: str, length: int):
    filler = ("zxqv wvut. " * (length // 11))[:length]
    assert server.names(f"read_file {filler}", ranker=ranker)[0] == "read_file"
    assert server.names(f"{filler} read_file", ranker=ranker)[0] == "read_file"


# Odd requests from the shared data, with the outcomes that the contract decides.


DECIDED = {"always_keep_only_when_no_match": [], "always_keep_equals_top_k": ["read_file"]}
"""Where the contract decides otherwise than proposed, or what was left open."""

REFUSED = {"pattern_blank": 422, "top_k_zero": 422, "top_k_negative": 422}


def edge_requests(data: Path) -> list[dict]:
    requests: list[dict] = json.loads((data / "cases" / "edge-requests.json").read_bytes())[
        "requests"
    ]
    return requests


def test_odd_requests_have_the_outcome_of_the_contract(server: Server, data: Path):
    for case in edge_requests(data):
        name, body = case["id"], case["body"]
        response = server.post(body)
        assert response.status_code == REFUSED.get(name, 200), name
        if name in REFUSED:
            continue
        selected = response.json()["selected_names"]
        assert set(selected) <= {tool["name"] for tool in body["tools"]}, name
        assert len(selected) == len(set(selected)) <= body.get("top_k", 5), name
        if name in DECIDED:
            assert selected == DECIDED[name], name


@pytest.mark.parametrize(
    ("name", "selected"),
    [
        ("minimal", ["read_file"]),
        ("every_tool_twice", ["read_file"]),
        ("always_keep_exceeds_top_k", ["read_file"]),
        ("definition_openai_flat", ["flat"]),
        ("tools_empty", []),
    ],
)
def test_odd_requests_select(server: Server, data: Path, name: str, selected: list[str]):
    body = next(case["body"] for case in edge_requests(data) if case["id"] == name)
    assert server.post(body).json()["selected_names"][: len(selected) or None] == selected


def test_entries_that_are_no_tools_are_counted_in_the_header(server: Server):
    answer = server.search("read a file", ["read_file", {"name": "read_file"}, None])
    assert answer.headers["x-tool-selection"].endswith("; skipped=2")
    answer = server.search("read a file", [{"name": "read_file"}])
    assert "skipped" not in answer.headers["x-tool-selection"]
