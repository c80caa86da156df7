"""A small MCP server of tasks and times, over stdio, to try the gateway with.

`python -m toolscout.gateway.mcp.sample` needs no network and keeps nothing but in memory.
"""

from argparse import ArgumentParser
from datetime import date, datetime
from zoneinfo import ZoneInfo

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError

_READS = {"readOnlyHint": True, "openWorldHint": False}
_WRITES = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
_DESTROYS = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}

server: FastMCP[None] = FastMCP("sample")
tasks: list[dict[str, str]] = [{"text": "Water the plants"}, {"text": "Call the dentist"}]


def list_tasks() -> list[dict[str, str]]:
    """List what is still to do, in the order in which it was noted."""
    return tasks


def add_task(text: str, due: date | None = None) -> int:
    """Note something to do, and until when; returns how many tasks there are."""
    tasks.append({"text": text} | ({"due": due.isoformat()} if due else {}))
    return len(tasks)


def delete_task(text: str) -> int:
    """Delete a task for good; returns how many are left."""
    if {"text": text} not in [{"text": task["text"]} for task in tasks]:
        raise ToolError(f"there is no task {text!r}")
    tasks[:] = [task for task in tasks if task["text"] != text]
    return len(tasks)


def current_time(timezone: str = "UTC") -> str:
    """Tell the time of day and the date in a time zone such as Europe/Berlin."""
    return datetime.now(ZoneInfo(timezone)).isoformat(timespec="seconds")


def days_between(first: date, second: date) -> int:
    """Count the days from one date to another, such as a deadline."""
    return (second - first).days


def count_words(text: str) -> dict[str, int]:
    """Count the words and characters of a text."""
    return {"words": len(text.split()), "characters": len(text)}


server.tool(list_tasks, annotations=_READS)
server.tool(add_task, annotations=_WRITES)
server.tool(delete_task, annotations=_DESTROYS)
server.tool(current_time, annotations=_READS)
server.tool(days_between, annotations=_READS)
server.tool(count_words, annotations=_READS)

if __name__ == "__main__":
    ArgumentParser("python -m toolscout.gateway.mcp.sample", description=__doc__).parse_args()
    server.run(show_banner=False)
