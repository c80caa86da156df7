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
    """How often a tool worked and failed."""

    name: str
    successes: int = 0
    failures: int = 0


class SessionTracker:
    """The tools one conversation has called; not thread-safe."""

    def __init__(self, limit: int = MAX_TOOLS) -> None:
        self._limit = limit
        self.reset()

    def record(self, name: str, success: bool = True) -> None:
        """Record a call of a tool in this turn."""
        use, _ = self._uses.get(name) or (Use(name), 0)
        use.successes += success
        use.failures += not success
        self._uses.put(name, (use, self._turn))

    def advance_turn(self) -> None:
        """Begin a new turn: all recorded calls are one turn older."""
        self._turn += 1

    def reset(self) -> None:
        """Forget everything."""
        self._turn = 0
        self._uses: Lru[str, tuple[Use, int]] = Lru(self._limit)
        """Each with the turn of its last call."""

    def fields(self) -> dict[str, Any]:
        """Return the `session` field of a search, latest use first; empty before the first call."""
        recent = [
            {**msgspec.structs.asdict(use), "turns_ago": self._turn - turn}
            for use, turn in reversed(self._uses.values())
        ]
        return {"session": {"recent": recent}} if recent else {}
