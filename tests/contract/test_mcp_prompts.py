"""The prompts and the schemas of the MCP facade: what a model reads, takes and is answered."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, TextContent

from tests.conftest import ACME_OLD
from tests.contract.mcp_client import call, session
from tests.in_process import serving
from tests.support import TOOLS, Server

pytestmark = pytest.mark.anyio

REFUND = {
    "name": "refund_order",
    "description": "Refund an order. The money is gone at once.",
    "definition": {
        "type": "object",
        "properties": {
            "order": {"type": "string"},
            "amount": {"type": "number", "minimum": 5},
            "note": {"type": "string"},
        },
        "required": ["order", "amount"],
    },
    "risk": "destructive",
    "required_keys": ["BANK"],
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("shop"), mcp=True) as started:
        for name, tools in (("office", TOOLS), ("shop", [*TOOLS, REFUND])):
            put = started.client.put(f"/v1/catalogs/{name}", json={"tools": tools})
            assert put.status_code == 201
        yield started


async def prompt(client: Client, name: str, **arguments: str) -> str:
    (message,) = (await client.get_prompt(name, arguments)).messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    return message.content.text


async def refusal(client: Client, name: str, **arguments: str) -> str:
    with pytest.raises(MCPError) as refused:
        await client.get_prompt(name, arguments)
    assert refused.value.code == INVALID_PARAMS
    return refused.value.message


async def test_the_best_tool_for_a_task_is_shown_with_its_schema(shop: Server):
    async with session(shop) as client:
        text = await prompt(client, "find_tool", task="refund the order", catalog="shop")
    lines = text.splitlines()
    assert lines[0] == "Task: refund the order"
    assert "The best tool is `refund_order`: Refund an order. The money is gone at once." in lines
    schema = next(line for line in lines if line.startswith("Its input schema: "))
    assert json.loads(schema.partition(": ")[2]) == REFUND["definition"]
    assert "It needs the keys: BANK" in lines
    assert "It destroys something: ask the user before you call it." in lines


async def test_a_search_by_prompt_is_counted_like_any_other(shop: Server):
    before = shop.get("/v1/stats").json()["searches"]
    async with session(shop) as client:
        await prompt(client, "find_tool", task="refund the order", catalog="shop")
    assert shop.get("/v1/stats").json()["searches"] == before + 1


async def test_a_task_is_needed_and_a_catalog_where_there_are_several(shop: Server):
    async with session(shop) as client:
        assert "task: " in await refusal(client, "find_tool", task=" ", catalog="shop")
        assert "office, shop" in await refusal(client, "find_tool", task="refund")
        assert "known" in await refusal(client, "find_tool", task="refund", catalog="nowhere")
        assert "catalog" in await refusal(client, "backend_status", catalog="nowhere")


async def test_the_status_names_catalogs_and_their_unavailable_tools(shop: Server):
    def switch(status: str) -> Any:
        change = {"status": {"refund_order": status}}
        return shop.client.patch("/v1/catalogs/shop", json=change).raise_for_status()

    async with session(shop) as client:
        assert await prompt(client, "backend_status") == "office: 8 tools\nshop: 9 tools"
        switch("unavailable")
        try:
            status = await prompt(client, "backend_status", catalog="shop")
            assert status == "shop: 9 tools, 1 unavailable (refund_order)"
            text = await prompt(client, "find_tool", task="refund the order", catalog="shop")
            assert "refund_order" not in text
        finally:
            switch("available")


async def test_the_status_tells_when_a_catalog_expires(facade: Server):
    headers = {"x-api-key": ACME_OLD}
    body = {"tools": TOOLS, "ttl_s": 3_600}
    put = facade.client.put("/v1/catalogs/brief", json=body, headers=headers).json()
    async with session(facade) as client:
        status = await prompt(client, "backend_status", catalog="brief")
    facade.client.delete("/v1/catalogs/brief", headers=headers).raise_for_status()
    assert status == f"brief: 8 tools, expires {put['expires_at'][:19]}Z"


# The schemas of the MCP facade's tools: what they take, and what they answer with.


CALLS: list[tuple[str, dict[str, Any]]] = [
    *(("search_tools", {"query": "pay", "detail": d}) for d in ("names", "brief", "full")),
    ("search_tools", {"query": "xyzzy plugh"}),
    *(("list_tools_meta", {"page_size": 4, "detail": d}) for d in ("names", "brief", "full")),
    *(("tool_info", {"name": "pay_invoice", "detail": d}) for d in ("brief", "full")),
    ("tool_info", {"name": "resize_image"}),
    ("get_tool_schemas", {"names": ["payInvoice", "red_file", "xyzzy"]}),
    ("get_required_keys_for_tool", {"name": "read_file"}),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_answers_have_the_fields_of_their_schema(
    facade: Server, name: str, arguments: dict[str, Any]
):
    event = {"pattern": "draw", "tool": "resize_image", "success": True, "duration_ms": 40}
    facade.post(event, "/v1/tool-discovery/feedback", {"x-api-key": ACME_OLD})
    async with session(facade) as client:
        offered = {tool.name: tool for tool in (await client.list_tools()).tools}
        schema = offered[name].output_schema
        assert schema is not None
        answer = await call(client, name, **arguments)
    closed = schema | {"$defs": {}} | {"additionalProperties": False}
    closed["$defs"] = {
        key: value | {"additionalProperties": False}
        for key, value in schema.get("$defs", {}).items()
    }
    jsonschema.validate(answer, closed)


async def test_a_damaged_catalog_does_not_hide_the_status_of_the_others(tmp_path: Path):
    path = tmp_path / "state.db"
    with serving(tmp_path, mcp=True, store=f"sqlite:{path}") as server:
        for name in ("damaged", "office"):
            server.client.put(f"/v1/catalogs/{name}", json={"tools": TOOLS})
        with closing(sqlite3.connect(path)) as db, db:
            damage = "UPDATE kept SET value = 'junk' WHERE key LIKE 'registered-tools/%/damaged/%'"
            db.execute(damage)
        async with session(server) as client:
            said = await prompt(client, "backend_status")
    assert said.splitlines() == ["damaged: 0 tools", f"office: {len(TOOLS)} tools"]
