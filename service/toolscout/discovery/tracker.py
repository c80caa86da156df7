"""Track the tools that a conversation has called, and send them with each search.

    tracker = SessionTracker()
    selector.select(query, tools, fields=tracker.fields())
    tracker.record("read_file", success=True)
    tracker.advance_turn()

The service ranks tools that just worked a little higher, and those that just failed a little lower.
"""

from typing import Any

import msgspec

from toolscout.common.lru import Lru

MAX_TOOLS = 50
"""Maximum number of tools remembered; the least recently used is dropped first."""


class Use(msgspec.Struct):
    """How often a tool worked and failed, and when it was called last."""

    name: str
    successes: int = 0
    failures: int = 0
    turn: int = 0


class SessionTracker:
    """The tools one conversation has called; not thread-safe."""

    def __init__(self, limit: int = MAX_TOOLS) -> None:
        self._limit = limit
        self.reset()

    def record(self, name: str, success: bool = True) -> None:
        """Record a call of a tool in this turn."""
        use = self._uses.get(name) or Use(name)
        use.successes += success
        use.failures += not success
        use.turn = self._turn
        self._uses.put(name, use)

    def advance_turn(self) -> None:
        """Begin a new turn: all recorded calls are one turn older."""
        self._turn += 1

    def reset(self) -> None:
        """Forget everything."""
        self._turn = 0
        self._uses: Lru[str, Use] = Lru(self._limit)

    def fields(self) -> dict[str, Any]:
        """Return the `session` field of a search, latest use first; empty before the first call."""
        recent = [
            {
                "name": use.name,
                "successes": use.successes,
                "failures": use.failures,
                "turns_ago": self._turn - use.turn,
            }
            for use in reversed(self._uses.values())
        ]
        return {"session": {"recent": recent}} if recent else {}
