"""State in this process: the default, gone when the process is."""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from time import time

from toolscout.state.store import START, Entry


class MemoryStore:
    """Values and logs in dictionaries."""

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._values: dict[str, tuple[bytes, float | None]] = {}
        self._logs: dict[str, deque[tuple[int, bytes]]] = {}
        self._last = 0

    async def get(self, key: str) -> bytes | None:
        """The value of a key."""
        value, until = self._values.get(key, (None, None))
        if until is not None and until <= self._clock():
            del self._values[key]
            return None
        return value

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Set a value."""
        self._values[key] = (value, None if ttl_s is None else self._clock() + ttl_s)

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
