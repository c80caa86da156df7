"""An MCP server that does what the protocol does not forbid, and some things that it does.

It says nothing of changes: each list has one tool more than the one before.
"""

import os
from typing import Any

import anyio
import mcp_types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

NAMES = ("plain", "with__two", "with.dot/and slash", "größe", "twice", "twice", "x" * 2_000)
lists = 0


def tool(name: str, support: Any = None) -> mcp_types.Tool:
    hints = mcp_types.ToolAnnotations(read_only_hint=True)
    schema = {"type": "object", "x-unknown": [1, {"deep": None}]}
    how = mcp_types.ToolExecution(task_support=support)
    return mcp_types.Tool(name=name, input_schema=schema, annotations=hints, execution=how)


async def list_tools(_: Any, params: Any) -> mcp_types.ListToolsResult:
    global lists
    if "BROKEN" in os.environ:
        raise MCPError(mcp_types.INTERNAL_ERROR, "sesame: no list today")
    if params is None or params.cursor is None:
        lists += 1
        return mcp_types.ListToolsResult(tools=[*map(tool, NAMES)], next_cursor="rest")
    rest = [tool("only_as_task", "required"), tool("also_as_task", "optional")]
    rest += [tool(f"of_list_{number}") for number in range(lists)]
    return mcp_types.ListToolsResult(tools=rest, next_cursor="")


async def call_tool(_: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
    if params.name == "plain":
        key = os.environ.get("ODD_KEY")
        data = {"expected": "otherwise", "env": {"ODD_KEY": key}}
        raise MCPError(mcp_types.CONNECTION_CLOSED, f"not like this, {key}", data)
    text = mcp_types.TextContent(type="text", text=params.name)
    return mcp_types.CallToolResult(content=[text])


async def main() -> None:
    server: Server[Any] = Server("odd", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (receiving, sending):
        await server.run(receiving, sending, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
