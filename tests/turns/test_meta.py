"""Meta-tools: an agent finds, lists and reads its tools; risky ones it must read first."""

import asyncio
import json
from typing import Any

import pytest

from tests.client.upstream import TOOLS, Exchange, peer
from tests.turns.shapes import SHAPES
from toolscout.client import AsyncSelector, Selector
from toolscout.metatools.gate import RiskGate
from toolscout.turns.meta import (
    META_TOOL_NAMES,
    handle_meta_call,
    handle_meta_call_async,
    meta_tools,
)

NEEDS_SCHEMA = {"requires_full_schema": True}


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
    assert "`query` is missing" in (unasked or "")
    assert "there is no tool of this name" in (unknown or "")
    assert other is None


def test_filters_are_sent_to_the_service_and_applied_without_one():
    tools = [*TOOLS, {"name": "git__push", "domain": "git"}, {"name": "hub__push"}]
    with peer(lambda exchange: exchange.select("git__push")) as fake, Selector(fake.url) as asked:
        arguments = {"query": "push", "namespace": "git", "domain": "git"}
        text = handle_meta_call("search_tools", arguments, tools, asked)
        assert fake.requests[0].json["filters"] == {"namespaces": ["git"], "domains": ["git"]}
    (found,) = json.loads(text or "")["tools"]
    assert found == {"name": "git__push", "summary": "", "risk": "write_remote", **NEEDS_SCHEMA}
    assert ask("search_tools", tools, query="push", namespace="GIT")["tools"] == [found]
    assert ask("list_tools_meta", tools, domain="git")["tools"] == [found]
    error = ask("search_tools", tools, query="push", domain="email")["error"]
    assert error.startswith("domain: no tool has it; tools have code, comms, data, git")


def test_a_service_that_is_gone_is_not_answered_with_every_tool():
    with Selector(None) as selector:
        text = handle_meta_call("search_tools", {"query": "x"}, TOOLS, selector)
    assert "(missing_api_endpoint)" in json.loads(text or "")["error"]


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


def test_several_schemas_come_in_one_answer_and_count_as_read():
    gate = RiskGate()
    names = ["readFile", "send_email", "read_file", "run_test"]
    answer = ask("get_tool_schemas", names=names, gate=gate)
    assert [shown["name"] for shown in answer["schemas"]] == ["read_file", "send_email"]
    assert all(gate.refusal(tool) is None for tool in TOOLS if tool["name"] == "send_email")
    assert RiskGate().refusal({"name": "send_email"}) is not None


def test_a_real_tool_of_the_same_name_is_not_shadowed():
    assert handle_meta_call("tool_info", {"name": "x"}, [{"name": "tool_info"}]) is None


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


@pytest.mark.parametrize(
    "written", ["readFile", "read-file", " read_file ", "github.read_file", "READ FILE"]
)
def test_a_tool_is_known_in_every_spelling(written):
    tools = [{"name": "mcp__github__read_file", "description": "Read"}, {"name": "write_file"}]
    assert ask("tool_info", tools, name=written)["name"] == "mcp__github__read_file"
    (found,) = ask("get_tool_schemas", tools, names=[written])["schemas"]
    assert found["name"] == "mcp__github__read_file"
