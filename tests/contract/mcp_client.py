"""The official MCP client, connected to a service: its session, calls and failures."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client
from mcp.client.client import ConnectMode
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from tests.conftest import ACME_OLD
from tests.support import Server

KEYED = {
    "name": "pay_invoice",
    "description": "Pay an invoice. At once.",
    "required_keys": ["BANK"],
}
HEADERS = {"accept": "application/json, text/event-stream", "x-api-key": ACME_OLD}


@asynccontextmanager
async def session(
    server: Server, key: str = ACME_OLD, mode: ConnectMode = "auto"
) -> AsyncIterator[Client]:
    """Connect as `mode` says: `legacy` shakes hands, a revision is spoken without asking first."""
    async with server.async_client(Authorization=f"Bearer {key}") as http:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def call(client: Client, name: str, /, **arguments: Any) -> Any:
    answer = await client.call_tool(name, arguments)
    assert not answer.is_error, answer.content
    return answer.structured_content


async def failure(client: Client, name: str, /, **arguments: Any) -> str:
    answer = await client.call_tool(name, arguments)
    assert answer.is_error
    assert isinstance(answer.content[0], TextContent)
    return answer.content[0].text
