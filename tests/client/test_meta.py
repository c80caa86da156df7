"""Meta-tools: an agent finds, lists and reads its tools; risky ones it must read first."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.client.shapes import SHAPES
from tests.client.upstream import TOOLS, Exchange, peer
from toolscout.client import AsyncSelector, Selector
from toolscout.discovery.agents.meta import (
    META_TOOL_NAMES,
    handle_meta_call,
    handle_meta_call_async,
    instructions,
    meta_tools,
)
from toolscout.discovery.risk import (
    RiskGate,
    requires_confirmation,
    requires_full_schema,
    risk_of,
)
from toolscout.tools.risk import LEVELS


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
        assert defined[3]["parameters"]["properties"]["names"]["items"]["type"] == "STRING"


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


def test_a_search_without_a_fit_says_so_and_what_else_there_is():
    def nothing(exchange: Exchange) -> None:
        exchange.select(headers=[("X-Tool-Selection", "6->0; outcome=no_match")])

    with peer(nothing) as fake, Selector(fake.url) as selector:
        text = handle_meta_call("search_tools", {"query": "zxqv"}, TOOLS, selector)
    asked = json.loads(text or "")
    assert asked["tools"] == []
    assert "No tool fits" in asked["message"]
    assert "list_tools_meta" in asked["message"]
    assert asked["total"] == len(TOOLS)
    assert asked["for_example"] == sorted(tool["name"] for tool in TOOLS)
    assert "error" not in asked
    assert ask("search_tools", query="zxqv") == asked


def test_what_else_there_is_stays_short_however_many_tools_there_are():
    plain = [{"name": f"tool_{number:05}"} for number in range(5_000)]
    assert len(ask("search_tools", plain, query="zxqv")["for_example"]) == 10
    spaced = [{"name": f"mcp__server{number % 40}__tool_{number}"} for number in range(2_000)]
    spaced += [{"name": f"mcp__git__tool_{number}"} for number in range(99)]
    found = ask("search_tools", spaced, query="zxqv")
    assert len(found["namespaces"]) == 10
    assert found["namespaces"]["mcp__git"] == 99
    assert "for_example" not in found
    long = [{"name": "x" * 5_000}]
    assert len(json.dumps(ask("search_tools", long, query="zxqv"))) < 300


def test_a_service_that_fails_is_not_taken_for_one_that_found_nothing():
    with peer(lambda exchange: exchange.answer(b"", 503)) as fake, Selector(fake.url) as selector:
        text = handle_meta_call("search_tools", {"query": "zxqv"}, TOOLS, selector)
    failed = json.loads(text or "")
    assert "not available" in failed["error"]
    assert failed["reason"] == "api_error"


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
        ("get_tool_schemas", {"names": "read_file"}, "names"),
        ("get_tool_schemas", {"names": []}, "names"),
        ("get_tool_schemas", {"names": ["x"] * 21}, "1 to 20, got 21"),
    ],
)
def test_wrong_arguments_are_said_to_the_model(name, arguments, message):
    assert message in ask(name, **arguments)["error"]


def test_a_misspelt_name_is_answered_with_near_ones():
    assert ask("tool_info", name="read_fiel")["did_you_mean"][0] == "read_file"


@pytest.mark.parametrize(
    "written", ["readFile", "read-file", " read_file ", "github.read_file", "READ FILE"]
)
def test_a_tool_is_known_in_every_spelling(written):
    tools = [{"name": "mcp__github__read_file", "description": "Read"}, {"name": "write_file"}]
    assert ask("tool_info", tools, name=written)["name"] == "mcp__github__read_file"
    (found,) = ask("get_tool_schemas", tools, names=[written])["schemas"]
    assert found["name"] == "mcp__github__read_file"


def test_a_name_that_several_tools_answer_to_is_none_of_them():
    tools = [{"name": "a__push"}, {"name": "b__push"}]
    answer = ask("tool_info", tools, name="push")
    assert "several tools" in answer["error"]
    assert answer["did_you_mean"] == ["a__push", "b__push"]


def test_several_schemas_come_in_one_answer_and_count_as_read():
    gate = RiskGate()
    names = ["readFile", "send_email", "read_file", "run_test"]
    answer = ask("get_tool_schemas", names=names, gate=gate)
    assert [shown["name"] for shown in answer["schemas"]] == ["read_file", "send_email"]
    assert answer["schemas"][0] == ask("tool_info", name="read_file")
    assert answer["errors"] == [{"name": "run_test", "did_you_mean": ["run_tests"]}]
    assert answer["count"] == 2
    assert all(gate.refusal(tool) is None for tool in TOOLS if tool["name"] == "send_email")
    assert RiskGate().refusal({"name": "send_email"}) is not None


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


def test_a_tool_that_cannot_be_called_now_says_so_and_stays_read():
    there = {"name": "send_email", "description": "Send a message"}
    gone = {**there, "status": "unavailable"}
    gate = RiskGate()
    assert ask("tool_info", [gone], name="send_email", gate=gate)["status"] == "unavailable"
    assert gate.refusal(there) is None
    (listed,) = ask("list_tools_meta", [gone])["tools"]
    assert listed["status"] == "unavailable"
    (listed,) = ask("list_tools_meta", [there])["tools"]
    assert "status" not in listed
