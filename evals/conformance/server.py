"""An MCP server that lists the tools of a file, on standard input and output."""

import argparse
import json
from pathlib import Path

from fastmcp import FastMCP
from fastmcp.tools.base import Tool

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m evals.conformance.server", description=__doc__)
    parser.add_argument("tools", type=Path, metavar="FILE", help="JSON, in the shape of MCP")
    server = FastMCP("cases")
    for tool in json.loads(parser.parse_args().tools.read_text("utf-8")):
        about = {"name": tool["name"], "description": tool["description"]}
        server.add_tool(Tool(**about, parameters=tool["inputSchema"]))
    server.run(show_banner=False)
