"""The client of fastmcp: what it finds at an address, as JSON."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import McpError


async def main(url: str, key: str, mode: str) -> None:
    """Ask everything once."""
    transport = StreamableHttpTransport(url, headers={"x-api-key": key})
    async with Client(transport, mode=mode) as client:
        tools = await client.list_tools()
        found = await client.call_tool("search_tools", {"query": "pay the bill", "top_k": 1})
        wrong = await client.call_tool("search_tools", {}, raise_on_error=False)
        prompt = await client.get_prompt("find_tool", {"task": "pay the bill"})
        overview = await client.read_resource("toolscout://office/overview")
        try:
            await client.read_resource("toolscout://nowhere/overview")
        except McpError as error:
            code = error.error.code
        revision = client.protocol_version
    answer = {
        "revision": revision,
        "titles": [tool.title for tool in tools],
        "found": found.structured_content["tools"][0]["name"],
        "is_error": wrong.is_error,
        "prompt": prompt.messages[0].content.text,
        "overview": overview[0].text,
        "code": code,
    }
    print(json.dumps(answer))


asyncio.run(main(*sys.argv[1:]))
