"""The official SDK's second major version: what it finds at an address, as JSON."""

import asyncio
import json
import sys

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, key: str, mode: str) -> None:
    """Ask everything once."""
    async with httpx2.AsyncClient(headers={"x-api-key": key}, trust_env=False) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode) as client:
            tools = (await client.list_tools()).tools
            found = await client.call_tool("search_tools", {"query": "pay the bill", "top_k": 1})
            wrong = await client.call_tool("search_tools", {})
            prompt = await client.get_prompt("find_tool", {"task": "pay the bill"})
            overview = await client.read_resource("toolscout://office/overview")
            try:
                await client.read_resource("toolscout://nowhere/overview")
            except MCPError as error:
                code = error.code
            revision = client.protocol_version
    answer = {
        "revision": revision,
        "titles": [tool.title for tool in tools],
        "found": found.structured_content["tools"][0]["name"],
        "is_error": wrong.is_error,
        "prompt": prompt.messages[0].content.text,
        "overview": overview.contents[0].text,
        "code": code,
    }
    print(json.dumps(answer))


asyncio.run(main(*sys.argv[1:]))
