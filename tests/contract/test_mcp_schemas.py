"""The schemas of the MCP facade's tools: what they take, and what they answer with."""

from typing import Any

import jsonschema
import pytest

from tests.conftest import ACME_OLD
from tests.contract.mcp_client import call, failure, session
from tests.support import Server

pytestmark = pytest.mark.anyio

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


async def test_every_tool_has_a_title_and_names_all_that_it_takes(facade: Server):
    async with session(facade) as client:
        for tool in (await client.list_tools()).tools:
            assert tool.title
            assert tool.title != tool.name
            assert tool.input_schema["additionalProperties"] is False
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "arguments: `query` is missing"),
        ({"query": ["pay"]}, "query: expected text, got a list"),
        ({"query": ""}, "query: expected at least 1 character"),
        ({"query": "  "}, "query is blank"),
        ({"query": "pay", "top_k": 101}, "top_k: expected at most 100"),
        ({"query": "pay", "detail": "all"}, "detail: Expected one of brief, full, names"),
        ({"query": "pay", "catalog": None}, "catalog: expected text, got null"),
        ({"query": "pay", "limit": 5}, "arguments: `limit` is not known"),
    ],
)
async def test_a_wrong_argument_is_named_in_the_result(
    facade: Server, arguments: dict[str, Any], message: str
):
    async with session(facade) as client:
        assert await failure(client, "search_tools", **arguments) == message


async def test_a_whole_number_may_be_written_with_a_point(facade: Server):
    async with session(facade) as client:
        assert len((await call(client, "list_tools_meta", page_size=3.0))["tools"]) == 3
