"""What the shapes of all providers share: a schema, and what a model writes in one turn."""

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


@dataclass(frozen=True)
class Said:
    """What a model says in one turn: text, and calls as (id, name, arguments)."""

    text: str = ""
    calls: tuple[tuple[str, str, Any], ...] = ()
