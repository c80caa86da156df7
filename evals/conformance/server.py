"""An MCP server that lists the tools of a file: python -m evals.conformance.server FILE."""

import json
import sys
from pathlib import Path

from fastmcp import FastMCP
from fastmcp.tools.base import Tool

if __name__ == "__main__":
    server = FastMCP("cases")
    for tool in json.loads(Path(sys.argv[1]).read_text("utf-8")):
        about = {"name": tool["name"], "description": tool["description"]}
        server.add_tool(Tool(**about, parameters=tool["inputSchema"]))
    server.run(show_banner=False)
