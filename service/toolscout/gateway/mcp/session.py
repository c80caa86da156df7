"""What the gateway remembers of one host's session: schemas read, and searches to learn from."""

import os
from collections import deque
from typing import Any, NamedTuple

from toolscout.client.risk import RiskGate

MAX_SEARCHES = 16
"""Latest searches of a session that a call may belong to."""


class Search(NamedTuple):
    """A search and what it found."""

    id: str
    query: str
    names: tuple[str, ...]


class Session:
    """The state of one session; a gateway over stdio has one."""

    def __init__(self) -> None:
        self.gate = RiskGate()
        self.peer: Any = None
        """The library's session, for notifications; None before its first list."""
        self._searches: deque[Search] = deque(maxlen=MAX_SEARCHES)

    def note_search(self, query: str, names: list[str]) -> None:
        """Remember what a search found."""
        self._searches.append(Search(os.urandom(8).hex(), query, tuple(names)))

    def search_for(self, name: str) -> Search | None:
        """Return the latest search that found a tool."""
        return next((one for one in reversed(self._searches) if name in one.names), None)
