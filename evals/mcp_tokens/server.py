"""An MCP server over stdio that lists some tools of a catalog, and runs none.

python -m evals.mcp_tokens.server CATALOG FIRST END
"""

import json
import sys
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
    """Answer `tools/list` until standard input is closed."""

    async def list_tools(_: Any, __: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=tools)

    server: Server[Any] = Server("catalog", on_list_tools=list_tools)
    async with stdio_server() as (receiving, sending):
        await server.run(receiving, sending, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(serve, read(Path(sys.argv[1]), *map(int, sys.argv[2:4])))
