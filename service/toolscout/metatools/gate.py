"""A gate that refuses risky calls until the tool's whole schema was read."""

import os
from hashlib import blake2b
from typing import Any

import msgspec

from toolscout.tools.risk import requires_schema, risk_of
from toolscout.tools.shapes import as_mapping, read_texts

TOKEN_BYTES = 4


class RiskGate:
    """Knows which schemas were read: by the token that is shown with them, or by being told.

    A token is made of the definition, so a changed tool must be read again, and of a key of this
    gate, so nobody who writes a definition knows it. Not thread-safe; without tokens, there is one
    gate per conversation.
    """

    def __init__(self) -> None:
        self._key = os.urandom(blake2b.MAX_KEY_SIZE)
        self._read: set[str] = set()

    def token(self, tool: Any) -> str:
        """Return the token of a definition, whatever its status."""
        content = {key: value for key, value in as_mapping(tool).items() if key != "status"}
        text = msgspec.json.encode(content, order="sorted", enc_hook=str)
        return blake2b(text, key=self._key, digest_size=TOKEN_BYTES).hexdigest()

    def note_read(self, tool: Any) -> None:
        """Record that the model has read the whole schema of this tool."""
        self._read.add(self.token(tool))

    def refuses(self, tool: Any, token: object = None) -> bool:
        """Return whether this tool was not read, and the token is not its own."""
        expected = self.token(tool)
        return token != expected and expected not in self._read

    def refusal(self, tool: Any) -> str | None:
        """Return the refusal for a model that calls a risky tool too early, else None."""
        level = risk_of(tool)
        if not requires_schema(level) or not self.refuses(tool):
            return None
        name, _ = read_texts(tool)
        how = 'read its full schema with tool_info and detail "full" before calling it.'
        return f"{name} is {level}: {how}"
