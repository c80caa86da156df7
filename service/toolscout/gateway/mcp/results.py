"""Results that are too long for a model: cut, and kept whole for the host that called.

A result that was cut is a resource for a while, under a URI that nobody can guess.
"""

import json
import re
from secrets import token_hex
from sys import getsizeof
from typing import Any

import mcp_types
from mcp import MCPError

from toolscout.common.lru import Lru
from toolscout.gateway.mcp.texts import SCHEME, make_result

_URI = re.compile(rf"{SCHEME}result-[0-9a-f]{{32}}")
"""The URI of a result; those of servers have a `/` after the server's name."""

MAX_BYTES = 64 * 1024 * 1024
"""Bytes of all texts that are kept; the ones used longest ago go first."""

MAX_RESULTS = 1_024
"""Results that are kept."""

MAX_REPEATED_FACTOR = 2
"""Structured content of at most this many times the characters of the texts is taken to repeat
them, escaped."""

WRAPPING_CHARS = 100
"""Further characters of such content, for the key that the texts are under."""


class LongResults:
    """The whole texts of results that were cut, each for the session that called."""

    def __init__(self) -> None:
        self._kept: Lru[str, tuple[object, list[str]]] = Lru(MAX_BYTES)

    def cut(
        self, session: object, result: mcp_types.CallToolResult, limit: int
    ) -> mcp_types.CallToolResult:
        """Return a result with so many characters of text, and a note if that is not all.

        Texts of embedded resources count, too. Structured content is left out, for mostly it is
        all of this once more; where it says more, it counts, and the whole has it.

        Args:
            session: the one that may read the whole.
            result: what a server has answered.
            limit: characters of all texts together; 0 sets no limit.
        """
        if not limit:
            return result
        texts = [text for part in result.content if (text := _read_text(part)) is not None]
        length = sum(map(len, texts))
        structure = _write_json(result.structured_content)
        if len(structure) > MAX_REPEATED_FACTOR * length + WRAPPING_CHARS:
            length += len(structure)
            texts.append(structure)
        excess = length - limit
        if excess <= 0:
            return result
        content: list[mcp_types.ContentBlock] = []
        for part in result.content:
            if (text := _read_text(part)) is None:
                content.append(part)
            elif limit:
                content.append(_replace_text(part, text[:limit]))
                limit -= min(limit, len(text))
        note = f"[{excess:,} more characters were left out. {self._keep(session, texts)}]"
        content.append(mcp_types.TextContent(type="text", text=note))
        return result.model_copy(update={"content": content, "structured_content": None})

    def _keep(self, session: object, texts: list[str]) -> str:
        """Keep texts, and return where they can be read."""
        uri = f"{SCHEME}result-{token_hex(16)}"
        # A short one counts for its share, which bounds their number.
        size = max(sum(map(getsizeof, texts)), MAX_BYTES // MAX_RESULTS)
        self._kept.put(uri, (session, texts), size)
        is_kept = size <= MAX_BYTES
        return f"The whole is the resource {uri}" if is_kept else "The whole is too large to keep"

    def read(self, session: object, uri: str) -> mcp_types.ReadResourceResult:
        """Return the whole texts of a result.

        Raises:
            MCPError: they are not kept any more, or another session's.
        """
        owner, texts = self._kept.get(uri) or (None, [])
        if owner is not session:
            why = "this result has made room for newer ones, or another session has called the tool"
            raise MCPError(mcp_types.INVALID_PARAMS, f"{why}: call it again", {"uri": uri})
        return make_result(uri, *texts)


def is_result(uri: str) -> bool:
    """Whether a URI is that of a result that was cut."""
    return _URI.fullmatch(uri) is not None


def _read_text(part: mcp_types.ContentBlock) -> str | None:
    content = part.resource if isinstance(part, mcp_types.EmbeddedResource) else part
    return getattr(content, "text", None)


def _replace_text(part: Any, text: str) -> Any:
    if isinstance(part, mcp_types.EmbeddedResource):
        return part.model_copy(update={"resource": _replace_text(part.resource, text)})
    return part.model_copy(update={"text": text})


def _write_json(structure: Any) -> str:
    return "" if structure is None else json.dumps(structure, ensure_ascii=False)
