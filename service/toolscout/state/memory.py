"""State in this process: the default, gone when the process is."""

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from time import time

from toolscout.state.store import START, Entry

SLACK = 1_000
"""Outdated times of expiry that are kept before they are cleared away."""


class MemoryStore:
    """Values and logs in dictionaries."""

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._values: dict[str, tuple[bytes, float | None]] = {}
        self._until: list[tuple[float, str]] = []
        """A heap of when values expire; those that were set anew stay in it until then."""
        self._logs: dict[str, deque[tuple[int, bytes]]] = {}
        self._last = 0

    def __len__(self) -> int:
        """Values that are kept."""
        return len(self._values)

    async def get(self, key: str) -> bytes | None:
        """The value of a key."""
        value, until = self._values.get(key, (None, None))
        if until is not None and until <= self._clock():
            del self._values[key]
            return None
        return value

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Set a value, and forget those that have expired, also if nobody asks for them."""
        now = self._clock()
        while self._until and self._until[0][0] <= now:
            _, expired = heappop(self._until)
            await self.get(expired)
        until = None if ttl_s is None else now + ttl_s
        self._values[key] = (value, until)
        if until is not None:
            heappush(self._until, (until, key))
        if len(self._until) > 2 * len(self._values) + SLACK:
            self._until = [(t, k) for k, (_, t) in self._values.items() if t is not None]
            heapify(self._until)

    async def swap(
        self, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None = None
    ) -> bool:
        """Set or delete a value if it has not changed."""
        if await self.get(key) != expected:
            return False
        if value is None:
            self._values.pop(key, None)
        else:
            await self.put(key, value, ttl_s)
        return True

    async def delete(self, key: str) -> None:
        """Remove a value."""
        self._values.pop(key, None)

    async def keys(self, prefix: str) -> list[str]:
        """The keys that begin so."""
        found = sorted(key for key in self._values if key.startswith(prefix))
        return [key for key in found if await self.get(key) is not None]

    async def append(self, log: str, values: Sequence[bytes], keep: int) -> None:
        """Add entries."""
        entries = self._logs.setdefault(log, deque())
        for value in values:
            self._last += 1
            entries.append((self._last, value))
        while len(entries) > keep:
            entries.popleft()

    async def read(self, log: str, after: str = START, limit: int = 1_000) -> list[Entry]:
        """Entries behind a position."""
        last = int(after or 0)
        behind = (entry for entry in self._logs.get(log, ()) if entry[0] > last)
        return [Entry(str(number), value) for number, value in islice(behind, limit)]

    async def drop(self, log: str) -> None:
        """Remove a log's entries."""
        self._logs.pop(log, None)

    async def close(self) -> None:
        """Nothing to let go of."""
