"""TOML files that lie beside the code that reads them."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def load_toml(path: Path) -> dict[str, Any]:
    """Return the content of a file of this package, read once."""
    return tomllib.loads(path.read_text("utf-8"))
