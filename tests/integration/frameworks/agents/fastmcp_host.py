"""A fastmcp server and a host that searches its tools: python fastmcp_host.py QUERY."""

import asyncio
import json
import os
import sys

from catalog import FUNCTIONS
from fastmcp import Client, FastMCP

from toolscout.client import AsyncSelector
from toolscout.integrations.fastmcp import ToolscoutSearchTransform

server = FastMCP("tools")
for function in FUNCTIONS:
    server.tool(function)
selector = AsyncSelector(os.environ["TOOLSCOUT_ENDPOINT"])
server.add_transform(ToolscoutSearchTransform(selector, max_results=3, always_visible=["spin_7"]))


async def main(query: str) -> None:
    async with Client(server) as host:
        listed = [tool.name for tool in await host.list_tools()]
        found = await host.call_tool("search_tools", {"query": query})
        call = {"name": "send_email", "arguments": {"to": "a@b.example"}}
        answer = await host.call_tool("call_tool", call)
    names = [tool["name"] for tool in found.structured_content["result"]]
    print(json.dumps({"listed": listed, "found": names, "answer": answer.content[0].text}))


asyncio.run(main(*sys.argv[1:]))
