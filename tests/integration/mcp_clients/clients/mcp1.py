"""The official SDK's first major version: what it finds at an address, as JSON."""

import asyncio
import json
import sys

import httpx
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, key: str) -> None:
    """Ask everything once."""
    async with (
        httpx.AsyncClient(headers={"x-api-key": key}, trust_env=False) as http,
        streamable_http_client(url, http_client=http) as (read, write, _),
        ClientSession(read, write) as client,
    ):
        hello = await client.initialize()
        tools = (await client.list_tools()).tools
        found = await client.call_tool("search_tools", {"query": "pay the bill", "top_k": 1})
        wrong = await client.call_tool("search_tools", {})
        prompt = await client.get_prompt("find_tool", {"task": "pay the bill"})
        overview = await client.read_resource("toolscout://office/overview")
        try:
            await client.read_resource("toolscout://nowhere/overview")
        except McpError as error:
            code = error.error.code
    answer = {
        "revision": hello.protocolVersion,
        "titles": [tool.title for tool in tools],
        "found": found.structuredContent["tools"][0]["name"],
        "is_error": wrong.isError,
        "prompt": prompt.messages[0].content.text,
        "overview": overview.contents[0].text,
        "code": code,
    }
    print(json.dumps(answer))


asyncio.run(main(*sys.argv[1:]))
