"""What a prompt says about the tools that were found for a task."""

from collections.abc import Sequence
from typing import Any

import msgspec

from toolscout.contract.tools import ToolDetail
from toolscout.tools.examples import example_arguments
from toolscout.tools.summary import first_sentence

CANDIDATES = 4
"""Tools that a prompt shows: the best one, and the names of the next ones."""

MAX_WHOLE_CHARS = 8_192
"""A larger tool is shown in brief."""


def best_tool(
    task: str, tool: ToolDetail, others: Sequence[str], call: str, *, is_clear: bool
) -> str:
    """Show the best tool for a task, and the names of the next ones.

    Args:
        task: what is to be done.
        tool: the best one, in full.
        others: names of the next ones.
        call: a sentence that says how a tool is called.
        is_clear: whether it fits, and is not only the nearest.
    """
    lead = "The best tool is" if is_clear else "No tool clearly fits; the nearest is"
    description, schema = tool.description or tool.summary or "", tool.input_schema or {}
    written = _json(schema)
    if len(description) + len(written) <= MAX_WHOLE_CHARS:
        example = {"name": tool.name, "arguments": example_arguments(schema)}
        shown = [f"Its input schema: {written}", f"Example call: {_json(example)}"]
    else:
        description = first_sentence(description)
        properties = schema.get("properties")
        parameters = ", ".join(properties if isinstance(properties, dict) else ()) or "none"
        shown = [f"Parameters: {parameters} (tool_info shows its schema)"]
    lines = [f"Task: {task}", "", f"{lead} `{tool.name}`: {description}", *shown]
    if tool.required_keys:
        lines += [f"It needs the keys: {', '.join(tool.required_keys)}"]
    if tool.requires_confirmation:
        lines += ["It destroys something: ask the user before you call it."]
    if others:
        lines += [f"Others that may fit: {', '.join(others)} (tool_info shows one)"]
    return "\n".join([*lines, "", f"{call} If none of them does the task, say so."])


def no_tool(task: str, size: int) -> str:
    """Say that none of so many tools fits a task."""
    return (
        f"Task: {task}\n\nNone of the {size} tools fits this task. Say so, or try search_tools in "
        "other words; list_tools_meta pages through everything."
    )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
