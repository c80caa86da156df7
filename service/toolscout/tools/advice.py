"""What a prompt says about the tools that were found for a task."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from toolscout.contract.tools import ToolDetail
from toolscout.tools.examples import example_arguments

CANDIDATES = 4
"""Tools that a prompt shows: the best one, and the names of the next ones."""

MAX_WHOLE_BYTES = 16_384
"""A larger tool is shown in brief."""


class Ways(NamedTuple):
    """How a model goes on from a prompt."""

    schema: str
    """The call that shows the schema of a large tool."""
    call: str
    """A sentence that says how a tool is called."""


def best_tool(
    task: str, tool: ToolDetail, others: Sequence[str], ways: Ways, *, is_clear: bool
) -> str:
    """Show the best tool for a task, and the names of the next ones.

    Args:
        task: what is to be done.
        tool: the best one, in full or in brief.
        others: names of the next ones.
        ways: how to read and to call it.
        is_clear: whether it fits, and is not only the nearest.
    """
    lead = "The best tool is" if is_clear else "No tool clearly fits; the nearest is"
    lines = [f"Task: {task}", "", f"{lead} `{tool.name}`: {tool.description or tool.summary}"]
    if tool.input_schema is not None:
        call = {"name": tool.name, "arguments": example_arguments(tool.input_schema)}
        lines += [f"Its input schema: {_json(tool.input_schema)}", f"Example call: {_json(call)}"]
    else:
        parameters = ", ".join(tool.parameters or ()) or "none"
        lines += [f"Parameters: {parameters} ({ways.schema} shows its schema)"]
    if tool.required_keys:
        lines += [f"It needs the keys: {', '.join(tool.required_keys)}"]
    if tool.requires_confirmation:
        lines += ["It destroys something: ask the user before you call it."]
    if others:
        lines += [f"Others that may fit: {', '.join(others)} (tool_info shows one)"]
    return "\n".join([*lines, "", f"{ways.call} If none of them does the task, say so."])


def no_tool(task: str, size: int) -> str:
    """Say that none of so many tools fits a task."""
    return (
        f"Task: {task}\n\nNone of the {size} tools fits this task. Say so, or try search_tools in "
        "other words; list_tools_meta pages through everything."
    )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
