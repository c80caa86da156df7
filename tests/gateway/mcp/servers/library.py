"""A small MCP server of texts, over stdio: resources, a template, prompts, links and a log."""

import os
import sys
from pathlib import Path

import mcp_types
from fastmcp import Context, FastMCP
from fastmcp.prompts import Message
from fastmcp.tools.base import ToolResult

READS = {"readOnlyHint": True}

server = FastMCP("library")


@server.resource("book://shelf/moby-dick", title="Moby-Dick", mime_type="text/plain")
def book() -> str:
    """Tell of a whale."""
    Path(os.environ.get("READ", os.devnull)).write_text("read", "utf-8")
    return "Call me Ishmael."


@server.resource("book://shelf/secret")
def secret() -> str:
    """Tell what is not for everybody."""
    return "the secret"


@server.resource("pages://{book}/{page}")
def page(book: str, page: str) -> str:
    """Show a page of a book."""
    return f"page {page} of {book}"


@server.prompt
def summarise(title: str) -> list[Message]:
    """Summarise a book in a few words."""
    content = mcp_types.EmbeddedResource(
        resource=mcp_types.TextResourceContents(uri="book://shelf/moby-dick", text=title)
    )
    return [Message(f"Summarise {title}"), Message(content)]


@server.tool(annotations=READS)
async def find_book(title: str, context: Context) -> ToolResult:
    """Find a book by its title."""
    await context.warning(f"looking for {title} with {os.environ.get('LIBRARY_KEY')}")
    link = mcp_types.ResourceLink(name=title, uri="pages://moby-dick/7")
    text = mcp_types.TextResourceContents(uri="book://shelf/moby-dick", text="Call me …")
    return ToolResult(content=[link, mcp_types.EmbeddedResource(resource=text)])


@server.tool(annotations=READS)
async def buy_book(context: Context) -> str:
    """Buy another book, which is a resource then."""

    @server.resource("book://shelf/ulysses")
    def ulysses() -> str:
        return "Stately, plump"

    await context.send_notification(mcp_types.ResourceListChangedNotification())
    return "bought"


if __name__ == "__main__":
    sys.stderr.write("open\n")
    server.run(show_banner=False)
