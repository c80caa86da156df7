"""An MCP server whose hosts search its tools instead of listing them all.

    pip install . fastmcp
    TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/fastmcp_server.py

It speaks over stdio; a host sees `search_tools` and `call_tool`. To search the tools of other
servers, make `server` with `fastmcp.server.create_proxy`.
"""

import os

from fastmcp import FastMCP
from toolbox import TOOLS

from toolscout.client import AsyncSelector
from toolscout.integrations.fastmcp import ToolscoutSearchTransform

selector = AsyncSelector(os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080"))
server = FastMCP("toolbox")
for function in TOOLS.values():
    server.tool(function)
server.add_transform(ToolscoutSearchTransform(selector, max_results=3))

if __name__ == "__main__":
    server.run(show_banner=False)
