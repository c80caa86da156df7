"""A host that starts an MCP server and searches its tools: python stdio_host.py PYTHON SCRIPT."""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main(python: str, script: str) -> None:
    transport = StdioTransport(python, [script], env=dict(os.environ))
    async with Client(transport) as host:
        listed = [tool.name for tool in await host.list_tools()]
        found = await host.call_tool("search_tools", {"query": "send an email"})
        call = {"name": "send_email", "arguments": {"to": "a@b.example"}}
        answer = await host.call_tool("call_tool", call)
    names = [tool["name"] for tool in found.structured_content["result"]]
    print(json.dumps({"listed": listed, "found": names, "answer": answer.content[0].text}))


asyncio.run(main(*sys.argv[1:]))
