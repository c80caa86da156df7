"""The schemas of the MCP facade's tools: what they take, and what they answer with."""

from typing import Any

import jsonschema
import pytest

from tests.conftest import ACME_OLD
from tests.contract.mcp_client import call, session
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
