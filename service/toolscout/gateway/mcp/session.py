"""What is asked before a risky call, and what is remembered of one host's session."""

import os
from collections import deque
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from toolscout.discovery.risk import requires_full_schema
from toolscout.gateway.mcp.listing import Offered

MAX_SEARCHES = 16
"""Latest searches of a session that a call may belong to."""

TOKEN_BYTES = 4


class Gate:
    """Refuses risky calls until they repeat the token that is shown with the tool's schema.

    The token is made of the definition, so a changed tool must be read again, and of a key of this
    process, so nobody who writes a definition knows it. Nothing is remembered of callers: hosts may
    open a session for each call, or have none.
    """

    def __init__(self) -> None:
        self._key = os.urandom(blake2b.MAX_KEY_SIZE)
        self._listed: set[str] = set()

    def token(self, offered: Offered) -> str | None:
        """Return what a call of a tool has to repeat; None if it may be called as it is."""
        is_gated = offered.is_changed or requires_full_schema(offered.shown)
        return self._token(offered.shown) if is_gated else None

    def note_listed(self, offered: Offered) -> None:
        """Permit calls of a tool whose whole definition hosts have in their own list."""
        self._listed.add(self._token(offered.shown))

    def refuses(self, offered: Offered, token: object) -> bool:
        """Return whether a call has to be made again with the token."""
        expected = self.token(offered)
        return expected is not None and token != expected and expected not in self._listed

    def _token(self, tool: Mapping[str, Any]) -> str:
        content = {key: value for key, value in tool.items() if key != "status"}
        text = msgspec.json.encode(content, order="sorted")
        return blake2b(text, key=self._key, digest_size=TOKEN_BYTES).hexdigest()


class Search(NamedTuple):
    """A search and what it found."""

    id: str
    query: str
    names: tuple[str, ...]


class Session:
    """The state of one session; a gateway over stdio has one."""

    def __init__(self) -> None:
        self.peer: Any = None
        """The library's session, for notifications; None before its first list."""
        self._searches: deque[Search] = deque(maxlen=MAX_SEARCHES)

    def note_search(self, query: str, names: list[str]) -> None:
        """Remember what a search found."""
        self._searches.append(Search(os.urandom(8).hex(), query, tuple(names)))

    def search_for(self, name: str) -> Search | None:
        """Return the latest search that found a tool."""
        return next((one for one in reversed(self._searches) if name in one.names), None)
