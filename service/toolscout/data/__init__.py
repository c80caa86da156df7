"""Word lists the rankers load once: plain data, kept apart from code."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def load(name: str) -> dict[str, Any]:
    """Return the parsed content of `NAME.toml` in this folder."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
