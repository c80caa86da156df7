"""A small MCP server whose results are as long as is asked for, over stdio."""

import mcp_types
from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult

READS = {"readOnlyHint": True}

server = FastMCP("long")


@server.tool(annotations=READS)
def print_lines(count: int) -> str:
    """Print so many lines, with a number in each."""
    return "".join(f"line {number}\n" for number in range(count))


@server.tool(annotations=READS)
def print_album(fails: bool = False) -> ToolResult:
    """Print an album: words before and after a picture."""
    before, after = (mcp_types.TextContent(type="text", text=one * 10) for one in "ab")
    picture = mcp_types.ImageContent(type="image", data="aGVsbG8=", mime_type="image/png")
    content = [before, picture, after]
    return ToolResult(content=content, structured_content={"pages": 2}, is_error=fails)


@server.tool(annotations=READS)
def print_page() -> ToolResult:
    """Print a page, as a resource."""
    page = mcp_types.TextResourceContents(uri="file:///page", text="b" * 10)
    return ToolResult(content=[mcp_types.EmbeddedResource(type="resource", resource=page)])


@server.tool(annotations=READS)
def count_words() -> ToolResult:
    """Count words, which are in the structure alone."""
    text = mcp_types.TextContent(type="text", text="counted")
    return ToolResult(content=[text], structured_content={"words": ["word"] * 100})


@server.resource("file:///lines")
def lines() -> str:
    """Return all lines."""
    return print_lines(100)


if __name__ == "__main__":
    server.run(show_banner=False)
