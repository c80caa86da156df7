"""A small MCP server of notes, over stdio.

With a port as its argument it is served there over HTTP, or over the transport named after it.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

import mcp_types
from fastmcp import Context, FastMCP
from fastmcp.server.dependencies import get_http_headers
from fastmcp.tools.base import ToolResult

READS = {"readOnlyHint": True}
DESTROYS = {"destructiveHint": True}

server = FastMCP("notes", dereference_schemas=False)


@server.tool(annotations=READS)
def list_notes(folder: str = "inbox") -> dict[str, object]:
    """List the notes of a folder."""
    return {"folder": folder, "notes": ["milk", "bread"]}


@server.tool
def send_note(text: str) -> str:
    """Send a note to everybody."""
    return f"sent {text}"


@server.tool(annotations=DESTROYS)
def erase_notebook(name: str) -> str:
    """Erase a whole notebook."""
    return f"erased {name}"


@server.tool(annotations=READS)
async def count_words(seconds: float, context: Context) -> int:
    """Count the words of all notes, which takes some seconds."""
    try:
        for step in range(4):
            await context.report_progress(step, 4, f"notebook {step}")
            await asyncio.sleep(seconds / 4)
    except asyncio.CancelledError:
        Path(os.environ["CANCELLED"]).write_text("cancelled", "utf-8")
        raise
    return 7


@server.tool(annotations=READS, meta={"anthropic/searchHint": "palimpsest"})
def read_sketch(page: int) -> ToolResult:
    """Read the sketch on a page, as a picture with words about it."""
    if page != 1:
        text = mcp_types.TextContent(type="text", text="there is no such page")
        return ToolResult(content=[text], structured_content={"pages": 1}, is_error=True)
    picture = mcp_types.ImageContent(type="image", data="aGVsbG8=", mime_type="image/png")
    return ToolResult(content=[picture], structured_content={"page": 1}, meta={"drawn": "by hand"})


@server.tool(annotations=READS)
def show_environment() -> dict[str, str]:
    """Show the variables of this process and the headers of the request."""
    return dict(os.environ) | get_http_headers(include_all=True)


@server.tool(annotations=READS)
async def learn_shorthand(context: Context) -> str:
    """Learn to write in shorthand: another tool."""

    @server.tool(annotations=READS)
    def transcribe_shorthand(strokes: str) -> str:
        """Transcribe strokes of shorthand into words."""
        return strokes

    await context.send_notification(mcp_types.ToolListChangedNotification())
    return "learned"


@server.tool(annotations=READS)
def crash() -> str:
    """End this process at once."""
    os._exit(1)


if __name__ == "__main__":
    sys.stderr.write(f"the key is {os.environ.get('NOTES_KEY')}\n")
    time.sleep(float(os.environ.get("START_S", "0")))
    if len(sys.argv) > 1:
        transport = sys.argv[2] if len(sys.argv) > 2 else "http"
        server.run(transport, port=int(sys.argv[1]), show_banner=False)
    else:
        server.run(show_banner=False)
