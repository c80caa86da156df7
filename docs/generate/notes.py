"""What people should know beside what the code says: notes.toml, by page and entry."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

WRITTEN = "<!-- Written by `make docs` from the code and docs/generate/notes.toml. -->"
"""The first line of every page."""


@cache
def notes(kind: str) -> dict[str, str]:
    """Return the notes of one kind (`settings`, `metrics`, `introductions`)."""
    text = Path(__file__).with_name("notes.toml").read_text("utf-8")
    found: dict[str, Any] = tomllib.loads(text)[kind]
    return {name: note.strip() for name, note in found.items()}


def joined(parts: list[str]) -> str:
    """Return a page of its paragraphs."""
    return "\n\n".join(part for part in parts if part) + "\n"
