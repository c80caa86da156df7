"""The blocks of README.md, and the commands in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text("utf-8")

BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.S | re.M)
"""Language and content, in order."""


def blocks(language: str) -> list[str]:
    """Return the contents of the blocks of one language."""
    return [content for found, content in BLOCKS if found == language]


def commands() -> list[str]:
    """Return the commands of the blocks."""
    found: list[str] = []
    for block in blocks("sh"):
        found += [block] if block.startswith("curl") else block.replace("\\\n", "").splitlines()
    return found
