"""State in this process: the default, lost with the process."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import inf
from time import time

from toolscout.state.store import START, Entry, StoreFull

MAX_BYTES = 256 << 20
"""Maximum bytes of values and entries; more are refused."""

ENTRY_BYTES = 200
"""Approximate overhead in bytes of each of them."""


class MemoryStore:
    """Values and logs in dictionaries.

    Args:
        max_bytes: the limit; `put`, `swap` and `append` raise `StoreUnavailable` beyond it.
    """

    def __init__(self, clock: Callable[[], float] = time, max_bytes: int = MAX_BYTES) -> None:
        self._clock = clock
        self._max_bytes = max_bytes
        self._bytes = 0
        self._values: dict[str, tuple[bytes, float]] = {}
        """Values, and until when they last."""
        self._logs: dict[str, deque[tuple[int, bytes]]] = {}
        self._last = 0

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self._values)

    async def get(self, key: str) -> bytes | None:
        """Return the value of a key."""
        value, until = self._values.get(key, (None, inf))
        return value if until > self._clock() else None

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Set a value, and remove expired ones."""
        now = self._clock()
        for expired in [key for key, (_, until) in self._values.items() if until <= now]:
            await self.delete(expired)
        before = self._values.get(key)
        self._take(len(value) + ENTRY_BYTES if before is None else len(value) - len(before[0]))
        self._values[key] = (value, inf if ttl_s is None else now + ttl_s)

    async def swap(
        self, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None = None
    ) -> bool:
        """Set or delete a value if it has not changed."""
        if await self.get(key) != expected:
            return False
        await (self.delete(key) if value is None else self.put(key, value, ttl_s))
        return True

    async def delete(self, key: str) -> None:
        """Remove a value."""
        if key in self._values:
            self._bytes -= _measure([self._values.pop(key)[0]])

    async def now(self) -> float:
        """Return the time of this process."""
        return self._clock()

    async def keys(self, prefix: str) -> list[str]:
        """Return the keys with a prefix."""
        keys = sorted(key for key in self._values if key.startswith(prefix))
        return [key for key in keys if await self.get(key) is not None]

    async def share(self, prefix: str) -> float:
        """Return the share of the limit that the values of these keys take."""
        values = (value for key, (value, _) in self._values.items() if key.startswith(prefix))
        return _measure(values) / self._max_bytes

    async def append(self, log: str, values: Sequence[bytes], keep: int) -> None:
        """Add entries; without room, remove the log's oldest ones."""
        entries = self._logs.setdefault(log, deque())
        more = _measure(values)
        while entries and self._bytes + more > self._max_bytes:
            self._bytes -= _measure([entries.popleft()[1]])
        self._take(more)
        for value in values:
            self._last += 1
            entries.append((self._last, value))
        while len(entries) > keep:
            self._bytes -= _measure([entries.popleft()[1]])

    async def read(self, log: str, after: str = START, limit: int = 1_000) -> list[Entry]:
        """Return the entries after a position."""
        last = int(after or 0)
        behind = (entry for entry in self._logs.get(log, ()) if entry[0] > last)
        return [Entry(str(number), value) for number, value in islice(behind, limit)]

    async def has_entry(self, log: str, entry: Entry) -> bool:
        """Return whether an entry is there."""
        return (int(entry.position), entry.value) in self._logs.get(log, ())

    async def remove(self, log: str, positions: Sequence[str]) -> int:
        """Remove entries."""
        before = self._logs.get(log, deque())
        gone = set(map(int, positions))
        removed = [value for number, value in before if number in gone]
        self._logs[log] = deque(entry for entry in before if entry[0] not in gone)
        self._bytes -= _measure(removed)
        return len(removed)

    async def logs(self, prefix: str) -> list[str]:
        """Return the logs with a prefix."""
        return sorted(log for log in self._logs if log.startswith(prefix))

    async def drop(self, log: str) -> None:
        """Remove a log's entries."""
        self._bytes -= _measure(value for _, value in self._logs.pop(log, ()))

    async def risk(self) -> str:
        """Return that nothing is known."""
        return ""

    async def close(self) -> None:
        """Do nothing."""

    def _take(self, more: int) -> None:
        if more > 0 and self._bytes + more > self._max_bytes:
            raise StoreFull("memory: full")
        self._bytes += more


def _measure(values: Iterable[bytes]) -> int:
    return sum(len(value) + ENTRY_BYTES for value in values)
