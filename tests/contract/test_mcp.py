"""The MCP facade, asked by the official client over HTTP."""

from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tests.attacks.test_patterns import COUNTED
from tests.conftest import ACME_OLD, ZENITH
from tests.contract.mcp_client import call, failure, session
from tests.in_process import serving
from tests.support import TOOLS, Server, crowd

pytestmark = pytest.mark.anyio


async def test_a_tool_is_found_and_inspected_end_to_end(facade: Server):
    async with session(facade) as client:
        offered = {tool.name for tool in (await client.list_tools()).tools}
        assert offered == {
            "search_tools",
            "list_tools_meta",
            "tool_info",
            "get_tool_schemas",
            "get_required_keys_for_tool",
        }
        found = await call(client, "search_tools", query="pay the bill", top_k=3)
        assert found["tools"][0]["name"] == "pay_invoice"
        assert found["outcome"] == "match"
        brief = await call(client, "tool_info", name="payInvoice")
        assert brief["summary"] == "Pay an invoice."
        full = await call(client, "tool_info", name="pay_invoice", detail="full")
        assert full["description"] == "Pay an invoice. At once."
        keys = await call(client, "get_required_keys_for_tool", name="pay_invoice")
        assert keys == {"name": "pay_invoice", "required_keys": ["BANK"]}


async def test_a_tool_tells_how_its_calls_went(facade: Server):
    event = {"pattern": "draw", "tool": "resize_image", "success": True, "duration_ms": 40}
    facade.post(event, "/v1/tool-discovery/feedback", {"x-api-key": ACME_OLD})
    async with session(facade) as client:
        used = await call(client, "tool_info", name="resize_image")
        assert (used["uses"], used["success_rate"], used["typical_duration_ms"]) == (1, 1.0, 40.0)
        assert "uses" not in await call(client, "tool_info", name="read_file")


async def test_instructions_prompts_and_resources_are_there(facade: Server):
    async with session(facade) as client:
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert prompts == {"discover", "find_tool", "backend_status"}
        found = await client.get_prompt("find_tool", {"task": "pay the bill"})
        assert "pay the bill" in found.messages[0].content.text  # type: ignore[union-attr]
        status = await client.get_prompt("backend_status")
        assert status.messages[0].content.text == "office: 9 tools"  # type: ignore[union-attr]
        uris = {str(resource.uri) for resource in (await client.list_resources()).resources}
        assert uris == {"toolscout://office/overview", "toolscout://office/index"}
        templates = (await client.list_resource_templates()).resource_templates
        assert len(templates) == 3
        for uri, part in (
            ("toolscout://office/overview", "9 tools"),
            ("toolscout://office/index", "read_file: Read a text file from disk"),
            ("toolscout://office/tool/pay_invoice", "At once."),
        ):
            (content,) = (await client.read_resource(uri)).contents
            assert part in content.text  # type: ignore[union-attr]


async def test_more_text_than_a_model_can_read_is_refused_in_words(facade: Server):
    tools = [tool | {"definition": {"note": "spin " * 400}} for tool in crowd(400)]
    headers = {"x-api-key": ZENITH}
    facade.client.put("/v1/catalogs/large", json={"tools": tools}, headers=headers)
    async with session(facade, ZENITH) as client:
        text = await failure(client, "list_tools_meta", detail="full", page_size=1_000)
        assert "bytes" in text
        assert "ask for fewer" in text
        brief = await call(client, "list_tools_meta", page_size=1_000)
        assert len(brief["tools"]) == 400
    facade.client.delete("/v1/catalogs/large", headers=headers).raise_for_status()


async def test_mistakes_are_answered_in_words(facade: Server):
    async with session(facade) as client:
        assert "pay_invoice" in await failure(client, "tool_info", name="pay_invoise")
        assert "known" in await failure(client, "search_tools", query="a", catalog="nowhere")
        assert "cursor" in await failure(client, "list_tools_meta", cursor="bad")
        for name, query in (("search_tools", {"query": "pay"}), ("list_tools_meta", {})):
            text = await failure(client, name, domain="git", **query)
            assert text.startswith("domain: no tool has it; tools have c")
        missing = await failure(client, "search_tools")
        assert missing == "arguments: `query` is missing"
        blank = await failure(client, "search_tools", query="pay", catalog=5)
        assert blank == "catalog: expected text, got a whole number"
        for wrong in (client.call_tool("run_tool"), client.get_prompt("unheard-of")):
            with pytest.raises(MCPError) as refused:
                await wrong
            assert refused.value.code == INVALID_PARAMS


async def test_a_step_down_is_said_in_the_text_and_beside_it(facade: Server):
    async with session(facade) as client:
        answer = await client.call_tool("search_tools", {"query": f"pay {COUNTED}"})
        assert answer.structured_content["degraded"] == "keyword"
        assert answer.content[0].text.splitlines()[1] == "degraded: keyword"
        plain = await client.call_tool("search_tools", {"query": "pay the bill"})
        assert "degraded" not in plain.structured_content
        assert "degraded" not in plain.content[0].text


async def test_a_catalog_that_is_not_compiled_is_searched_by_meaning_at_once(tmp_path: Path):
    kept = {"mcp": True, "store": f"sqlite:{tmp_path / 'state.db'}"}
    with serving(tmp_path, **kept) as before:
        for name in ("corbels", "sconces"):
            listed = {"tools": crowd(3_000, name)}
            before.client.put(f"/v1/catalogs/{name}", json=listed).raise_for_status()
    with serving(tmp_path, latency_budget_ms=1, cold_budget_ms=60_000, **kept) as after:
        async with session(after) as client:
            found = await call(client, "search_tools", query="spin it round", catalog="corbels")
            assert "degraded" not in found
            await client.get_prompt("find_tool", {"task": "spin it", "catalog": "sconces"})
        for ranker in ("bm25", "keyword"):
            assert after.metric(f'toolscout_degraded_total{{ranker="{ranker}"}}') == 0


async def test_tenants_are_apart(facade: Server):
    async with session(facade, ZENITH) as client:
        assert (await client.list_resources()).resources == []
        assert "none" in await failure(client, "search_tools", query="pay the bill")
        assert "known" in await failure(client, "tool_info", name="a", catalog="office")


async def test_where_there_are_several_catalogs_one_has_to_be_named(facade: Server):
    headers = {"x-api-key": ZENITH}
    for name in ("one", "two"):
        facade.client.put(f"/v1/catalogs/{name}", json={"tools": crowd(3, name)}, headers=headers)
    async with session(facade, ZENITH) as client:
        assert "one, two" in await failure(client, "search_tools", query="spin")
        found = await call(client, "search_tools", query="two 1 spin", catalog="two")
        assert found["tools"][0]["name"] == "two_1_spin"


async def test_the_status_compiles_nothing(tmp_path: Path):
    kept = {"mcp": True, "store": f"sqlite:{tmp_path / 'state.db'}"}
    with serving(tmp_path, **kept) as before:
        for name in ("Office", "home"):
            answer = before.client.put(f"/v1/catalogs/{name}", json={"tools": TOOLS})
            assert answer.status_code == 201
    with serving(tmp_path, **kept) as after:
        async with session(after) as client:
            status = await client.get_prompt("backend_status")
            said = status.messages[0].content.text  # type: ignore[union-attr]
            assert said.splitlines() == [
                f"{name}: {len(TOOLS)} tools" for name in ("Office", "home")
            ]
            assert after.metric("toolscout_catalog_cache_entries") == 0
            (content,) = (await client.read_resource("toolscout://Office/overview")).contents
            assert f"{len(TOOLS)} tools" in content.text  # type: ignore[union-attr]
