"""An MCP server over stdio that lists some tools of a catalog, and answers calls with a word."""

import argparse
import json
from pathlib import Path
from typing import Any

import anyio
import mcp_types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


def read(path: Path, first: int, end: int) -> list[mcp_types.Tool]:
    """Return some tools of a catalog as MCP lists them."""
    return [
        mcp_types.Tool(
            name=tool["name"],
            description=tool.get("description"),
            input_schema={"type": "object", **tool.get("definition", {})},
        )
        for tool in json.loads(path.read_text("utf-8"))[first:end]
    ]


async def serve(tools: list[mcp_types.Tool]) -> None:
    """Answer `tools/list` and `tools/call` until standard input is closed."""

    async def list_tools(_: Any, __: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=tools)

    async def call_tool(_: Any, __: Any) -> mcp_types.CallToolResult:
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text="done")])

    server: Server[Any] = Server("catalog", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (receiving, sending):
        await server.run(receiving, sending, server.create_initialization_options())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m evals.mcp_tokens.server", description=__doc__)
    parser.add_argument("catalog", type=Path, help="JSON file with a list of tools")
    parser.add_argument("first", type=int, help="the first to list, from 0")
    parser.add_argument("end", type=int, help="the one after the last")
    given = parser.parse_args()
    anyio.run(serve, read(given.catalog, given.first, given.end))
