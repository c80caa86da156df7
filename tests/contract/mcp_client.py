"""The official MCP client, connected to a service: its session, calls and failures."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client

from tests.conftest import ACME_OLD
from tests.support import Server

KEYED = {
    "name": "pay_invoice",
    "description": "Pay an invoice. At once.",
    "required_keys": ["BANK"],
}
HEADERS = {"accept": "application/json, text/event-stream", "x-api-key": ACME_OLD}


@asynccontextmanager
async def session(server: Server, key: str = ACME_OLD) -> AsyncIterator[ClientSession]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx.AsyncClient(headers=headers, trust_env=False) as http,
        streamable_http_client(f"{server.url}/mcp", http_client=http) as (read, write, _),
        ClientSession(read, write) as client,
    ):
        await client.initialize()
        yield client


async def call(client: ClientSession, name: str, /, **arguments: Any) -> Any:
    answer = await client.call_tool(name, arguments)
    assert not answer.isError, answer.content
    return answer.structuredContent


async def failure(client: ClientSession, name: str, /, **arguments: Any) -> str:
    answer = await client.call_tool(name, arguments)
    assert answer.isError
    assert isinstance(answer.content[0], types.TextContent)
    return answer.content[0].text
