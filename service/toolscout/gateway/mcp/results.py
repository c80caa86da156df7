"""Results that are too long for a model: cut, and kept whole for the host that called.

A result that was cut is a resource for a while, under a URI that nobody can guess.
"""

from secrets import token_hex
from sys import getsizeof

import mcp_types
from mcp import MCPError

from toolscout.common.lru import Lru
from toolscout.gateway.mcp.texts import SCHEME, Passed, plain_text

RESULT = f"{SCHEME}result-"
"""What the URIs of results begin with; no server's do, for theirs have a `/` after its name."""

MAX_BYTES, MAX_RESULTS = 64 * 1024 * 1024, 1_024
"""Bytes of all texts that are kept, and how many results; the ones used longest ago go first."""


class Results:
    """The whole texts of results that were cut, each for the session that called."""

    def __init__(self) -> None:
        self._kept: Lru[str, tuple[object, list[str]]] = Lru(MAX_BYTES)

    def cut(
        self, session: object, result: mcp_types.CallToolResult, limit: int
    ) -> mcp_types.CallToolResult:
        """Return a result with so many characters of text, and a note if that is not all.

        Structured content would be all of it once more, so it is left out. Nothing else is.

        Args:
            session: the one that may read the whole.
            result: what a server has answered.
            limit: characters of all texts together; 0 sets no limit.
        """
        texts = [part.text for part in result.content if isinstance(part, mcp_types.TextContent)]
        excess = sum(map(len, texts)) - limit
        if not limit or excess <= 0:
            return result
        content: list[mcp_types.ContentBlock] = []
        for part in result.content:
            if not isinstance(part, mcp_types.TextContent):
                content.append(part)
            elif limit:
                shown = part.text[:limit]
                content.append(part.model_copy(update={"text": shown}))
                limit -= len(shown)
        note = f"[{excess:,} more characters were left out. {self._keep(session, texts)}]"
        content.append(mcp_types.TextContent(type="text", text=note))
        return result.model_copy(update={"content": content, "structured_content": None})

    def _keep(self, session: object, texts: list[str]) -> str:
        """Keep texts, and return where they can be read."""
        uri = f"{RESULT}{token_hex(16)}"
        # A short one counts for its share, which bounds their number.
        size = max(sum(map(getsizeof, texts)), MAX_BYTES // MAX_RESULTS)
        self._kept.put(uri, (session, texts), size)
        is_kept = size <= MAX_BYTES
        return f"The whole is the resource {uri}" if is_kept else "The whole is too large to keep"

    def read(self, session: object, uri: str) -> Passed:
        """Return the whole texts of a result.

        Raises:
            MCPError: they are not kept any more, or another session's.
        """
        owner, texts = self._kept.get(uri) or (None, [])
        if owner is not session:
            why = "this result has made room for newer ones, or another session has called the tool"
            raise MCPError(mcp_types.INVALID_PARAMS, f"{why}: call it again", {"uri": uri})
        return plain_text(uri, *texts)
