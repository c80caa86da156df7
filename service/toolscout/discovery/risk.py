"""A gate that refuses risky calls until their schema was read; `tools/risk.py` judges the risk."""

from hashlib import sha256
from typing import Any

import msgspec

from toolscout.contract.fields import Risk
from toolscout.tools.namespace import namespace_in
from toolscout.tools.risk import LEVELS, risk
from toolscout.tools.shapes import as_mapping, texts


def risk_of(tool: Any) -> Risk:
    """The risk of a tool of any shape."""
    given = as_mapping(tool)
    level = given.get("risk")
    if level in LEVELS:
        return level  # type: ignore[no-any-return]
    name, description = texts(tool)
    elsewhere = bool(given.get("namespace") or namespace_in(name))
    return risk(name, description, given.get("annotations"), is_elsewhere=elsewhere)


def requires_full_schema(tool: Any) -> bool:
    """Whether a model must have read the whole schema before it may call the tool."""
    return LEVELS.index(risk_of(tool)) >= LEVELS.index("write_remote")


def requires_confirmation(tool: Any) -> bool:
    """Whether a person should be asked before the tool is called."""
    return risk_of(tool) == "destructive"


class RiskGate:
    """Remembers which schemas a conversation has read, and refuses risky calls before that.

    A changed tool must be read again. One gate per conversation; not thread-safe.
    """

    def __init__(self) -> None:
        self._read: set[bytes] = set()

    def note_read(self, tool: Any) -> None:
        """Record that the model has read the whole schema of this tool."""
        self._read.add(_fingerprint(tool))

    def refusal(self, tool: Any) -> str | None:
        """Return the refusal for a model that calls this tool too early, else None."""
        if not requires_full_schema(tool) or _fingerprint(tool) in self._read:
            return None
        name = texts(tool)[0]
        return f"{name} is {risk_of(tool)}: read its full schema with tool_info before calling it."


def _fingerprint(tool: Any) -> bytes:
    content = {key: value for key, value in as_mapping(tool).items() if key != "status"}
    encoded = msgspec.json.encode(content, order="sorted", enc_hook=str)
    return sha256(encoded).digest()
