"""Entries that are no tools but files to read: skills, and subagents to hand a task to."""

from typing import Any

SKILL = "skill"
SUBAGENT = "subagent"

KINDS = (SKILL, SUBAGENT)
"""Of an entry one is among its `tags`, and its path is its `source`."""


def describe_file(tags: Any, source: Any) -> str | None:
    """Return what an entry is and its path, as `skill: read /home/me/…`; None of a tool."""
    labels = tags if isinstance(tags, list | tuple) else ()
    kind = next((one for one in KINDS if one in labels), None)
    return f"{kind}: read {source}" if kind and isinstance(source, str) else None
