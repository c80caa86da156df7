"""Word lists the rankers load once: plain data, kept apart from code."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def load(name: str) -> dict[str, Any]:
    """Return the parsed content of `NAME.toml` in this folder."""
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))
