"""Meta-tools: an agent finds, lists and reads its tools; risky ones it must read first."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.client.shapes import SHAPES
from tests.client.upstream import TOOLS, peer
from toolscout.client import AsyncSelector, Selector
from toolscout.client.meta import (
    META_TOOL_NAMES,
    handle_meta_call,
    handle_meta_call_async,
    instructions,
    meta_tools,
)
from toolscout.client.risk import (
    LEVELS,
    RiskGate,
    requires_confirmation,
    requires_full_schema,
    risk_of,
)


def ask(meta: str, tools: list[Any] | None = None, /, **arguments: Any) -> Any:
    gate = arguments.pop("gate", None)
    text = handle_meta_call(meta, arguments, TOOLS if tools is None else tools, gate=gate)
    assert text is not None
    return json.loads(text)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_definitions_have_every_providers_shape(shape):
    defined = meta_tools(shape.name)
    assert tuple(shape.names(shape.request("x", defined))) == META_TOOL_NAMES
    if shape.name == "gemini":
        assert defined[0]["parameters"]["properties"]["query"]["type"] == "STRING"


def test_the_instructions_name_every_step():
    assert "search_tools" in instructions()
    assert "tool_info" in instructions()


def test_a_search_is_answered_by_the_service():
    with (
        peer(lambda exchange: exchange.select("run_tests")) as fake,
        Selector(fake.url) as selector,
    ):
        text = handle_meta_call("search_tools", {"query": "x", "top_k": 3}, TOOLS, selector)
        assert fake.requests[0].json["top_k"] == 3
    assert json.loads(text or "")["tools"][0]["name"] == "run_tests"


def test_a_search_can_be_awaited():
    async def run(url: str) -> list[str | None]:
        async with AsyncSelector(url) as selector:
            return [
                await handle_meta_call_async("search_tools", {"query": "x"}, TOOLS, selector),
                await handle_meta_call_async("search_tools", {}, TOOLS, selector),
                await handle_meta_call_async("tool_info", {"name": "nope"}, TOOLS, selector),
                await handle_meta_call_async("read_file", {}, TOOLS, selector),
            ]

    with peer(lambda exchange: exchange.select("run_tests")) as fake:
        found, unasked, unknown, other = asyncio.run(run(fake.url))
    assert "run_tests" in (found or "")
    assert "query: expected a text" in (unasked or "")
    assert "there is no tool of this name" in (unknown or "")
    assert other is None


def test_a_service_that_is_gone_is_not_answered_with_every_tool():
    with Selector(None) as selector:
        text = handle_meta_call("search_tools", {"query": "x"}, TOOLS, selector)
    assert json.loads(text or "")["reason"] == "missing_api_endpoint"


def test_without_a_service_the_search_is_local():
    assert ask("search_tools", query="file contents")["tools"][0]["name"] == "read_file"
    assert ask("search_tools", query="zxqv") == {"tools": []}


def test_pages_hold_every_tool_once_and_no_page_is_empty():
    names: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = ask("list_tools_meta", page_size=2, cursor=cursor)
        assert page["tools"]
        names += [tool["name"] for tool in page["tools"]]
        cursor = page.get("next_cursor")
    assert names == sorted(tool["name"] for tool in TOOLS)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("list_tools_meta", {"cursor": "nowhere"}, "cursor"),
        ("list_tools_meta", {"page_size": -1}, "page_size"),
        ("search_tools", {}, "query"),
        ("search_tools", {"query": "x", "top_k": "many"}, "top_k"),
        ("tool_info", {}, "name"),
    ],
)
def test_wrong_arguments_are_said_to_the_model(name, arguments, message):
    assert message in ask(name, **arguments)["error"]


def test_a_misspelt_name_is_answered_with_near_ones():
    assert ask("tool_info", name="read_fiel")["did_you_mean"][0] == "read_file"


def test_a_real_tool_of_the_same_name_is_not_shadowed():
    assert handle_meta_call("tool_info", {"name": "x"}, [{"name": "tool_info"}]) is None


def test_a_risky_tool_is_callable_only_after_its_schema_was_read():
    drop = {
        "name": "db.drop_table",
        "description": "Drop a table",
        "input_schema": {"type": "object"},
    }
    gate = RiskGate()
    assert "tool_info" in (gate.refusal(drop) or "")
    info = ask("tool_info", [drop], name="db.drop_table", gate=gate)
    assert (info["risk"], info["requires_confirmation"]) == ("destructive", True)
    assert info["input_schema"] == {"type": "object"}
    assert gate.refusal(drop) is None
    assert gate.refusal({**drop, "description": "Drop every table"}) is not None
    assert RiskGate().refusal({"name": "read_file"}) is None


@pytest.mark.parametrize(
    ("tool", "risk"),
    [
        ({"name": "x", "risk": "destructive"}, "destructive"),
        ({"name": "deleteFile", "annotations": {"readOnlyHint": True}}, "read_only"),
        ({"name": "get", "annotations": {"destructiveHint": True}}, "destructive"),
        ({"name": "x", "annotations": {"readOnlyHint": False}}, "write_remote"),
        ({"name": "x", "annotations": {"destructiveHint": False}}, "write_remote"),
        (
            {"name": "x", "annotations": {"destructiveHint": False, "openWorldHint": False}},
            "write_local",
        ),
        ({"name": "deleteFile"}, "destructive"),
        ({"name": "get_weather"}, "read_only"),
        ({"name": "search_and_replace"}, "write_remote"),
        ({"name": "get_or_delete"}, "destructive"),
        ({"name": "create_file"}, "write_local"),
        ({"name": "github__create_issue"}, "write_remote"),
        ({"name": "thing", "description": "This deletes all of it"}, "destructive"),
        ({"name": "thing"}, "write_remote"),
        ({"type": "function", "function": {"name": "send_mail"}}, "write_remote"),
    ],
)
def test_risks_are_given_annotated_or_in_the_verbs(tool, risk):
    assert risk_of(tool) == risk


def test_the_risks_of_known_tools(data: Path):
    for row in json.loads((data / "cases/locus.json").read_text())["cases"]:
        if row["kind"] == "risk":
            tool = row["tools"][0]
            assert risk_of(tool) == row["expect_risk"], row["id"]
            assert requires_full_schema(tool) == row["expect_requires_full_schema"], row["id"]
            assert requires_confirmation(tool) == row["expect_requires_confirmation"], row["id"]


def test_levels_go_from_harmless_to_worst():
    assert LEVELS == ("read_only", "write_local", "write_remote", "destructive")


@pytest.mark.parametrize("given", [None, "", "[]", "no json", b"7"])
def test_arguments_that_are_no_object_are_as_good_as_none(given):
    async def awaited(name: str) -> str | None:
        async with AsyncSelector(None) as selector:
            return await handle_meta_call_async(name, given, TOOLS, selector)

    for name in META_TOOL_NAMES:
        text = handle_meta_call(name, given, TOOLS)
        assert text is not None
        assert ("error" in json.loads(text)) == (name != "list_tools_meta")
        assert asyncio.run(awaited(name)) == text
    assert handle_meta_call("read_file", given, TOOLS) is None
    assert asyncio.run(awaited("read_file")) is None


def test_arguments_may_be_json_text_and_null_counts_are_the_default():
    text = handle_meta_call("search_tools", '{"query": "email", "top_k": null}', TOOLS)
    assert json.loads(text or "")["tools"][0]["name"] == "send_email"


def test_a_cursor_that_is_no_text_is_answered_with_what_is_wrong():
    assert "cursor" in ask("list_tools_meta", cursor=["x"])["error"]
