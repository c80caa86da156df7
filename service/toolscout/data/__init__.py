"""Word lists the rankers load once: plain data, kept apart from code."""

from pathlib import Path
from typing import Any

from toolscout.common.toml_files import load_toml


def load(name: str) -> dict[str, Any]:
    """Return the parsed content of `NAME.toml` in this folder."""
    return load_toml(Path(__file__).with_name(f"{name}.toml"))
