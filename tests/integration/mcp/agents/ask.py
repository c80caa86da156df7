"""What a host does with the gateway: list, search, and call what was found; printed as JSON.

python ask.py URL KIND, in an environment that has the host's client.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


@asynccontextmanager
async def fastmcp(url: str) -> AsyncIterator[tuple[list[str], Call]]:
    from fastmcp import Client

    async with Client(url) as client:
        yield [tool.name for tool in await client.list_tools()], client.call_tool


@asynccontextmanager
async def mcp(url: str) -> AsyncIterator[tuple[list[str], Call]]:
    from mcp import Client

    async with Client(url) as client:
        yield [tool.name for tool in (await client.list_tools()).tools], client.call_tool


@asynccontextmanager
async def openai_agents(url: str) -> AsyncIterator[tuple[list[str], Call]]:
    from agents.mcp import MCPServerStreamableHttp

    async with MCPServerStreamableHttp({"url": url}, client_session_timeout_seconds=60) as server:
        yield [tool.name for tool in await server.list_tools()], server.call_tool


@asynccontextmanager
async def pydantic_ai(url: str) -> AsyncIterator[tuple[list[str], Call]]:
    from pydantic_ai.mcp import MCPToolset

    async with MCPToolset(url) as toolset:
        yield [tool.name for tool in await toolset.list_tools()], toolset.direct_call_tool


@asynccontextmanager
async def mcp_use(url: str) -> AsyncIterator[tuple[list[str], Call]]:
    from mcp_use import MCPClient

    client = MCPClient({"mcpServers": {"gateway": {"url": url}}})
    session = await client.create_session("gateway")
    try:
        yield [tool.name for tool in await session.list_tools()], session.call_tool
    finally:
        await client.close_all_sessions()


@asynccontextmanager
async def langchain(url: str) -> AsyncIterator[tuple[list[str], Call]]:
    """Have a session for each call, which is what its tools do by default."""
    from langchain_mcp_adapters.client import MultiServerMCPClient

    client = MultiServerMCPClient({"gateway": {"transport": "streamable_http", "url": url}})
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        return await tools[name].ainvoke(arguments)

    yield list(tools), call


def text_of(result: Any) -> str:
    """Return the text of a result, whatever a client makes of it."""
    if isinstance(result, dict):
        return json.dumps(result)
    if isinstance(result, str):
        return result
    (part,) = result if isinstance(result, list) else result.content
    text = part["text"] if isinstance(part, dict) else part.text
    return str(text)


async def main(url: str, kind: str) -> None:
    """Send a note by what a search for it shows."""
    async with globals()[kind](url) as (listed, call):
        found = json.loads(text_of(await call("search_tools", {"query": "send a note to all"})))
        best = found["tools"][0]
        arguments = {"name": best["name"], "arguments": {"text": "tea"}, "token": best["token"]}
        said = text_of(await call(best["call"], arguments))
    print(json.dumps({"listed": listed, "found": best["name"], "said": said}))


asyncio.run(main(*sys.argv[1:]))
