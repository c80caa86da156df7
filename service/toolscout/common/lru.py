"""A least-recently-used map, bounded by the sum of its values' sizes."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lru(Generic[K, V]):
    """Keeps the most recently used values; thread-safe.

    Args:
        limit: the largest sum of sizes; a size is 1 unless given.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()
        self.size = 0

    def get(self, key: K) -> V | None:
        """Return a value, which becomes the most recently used."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def peek(self, key: K) -> V | None:
        """Return a value, which is used no more for it."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def put(self, key: K, value: V, size: int = 1) -> None:
        """Store a value, unless it is larger than the whole limit."""
        with self._lock:
            old = self._entries.pop(key, None)
            if old is not None:
                self.size -= old[1]
            if size > self._limit:
                return
            self._entries[key] = (value, size)
            self.size += size
            while self.size > self._limit:
                _, (_, freed) = self._entries.popitem(last=False)
                self.size -= freed

    def pop(self, key: K) -> V | None:
        """Remove a value and return it."""
        with self._lock:
            value, size = self._entries.pop(key, (None, 0))
            self.size -= size
            return value

    def items(self) -> list[tuple[K, V]]:
        """Return all keys with their values, the least recently used first."""
        with self._lock:
            return [(key, value) for key, (value, _) in self._entries.items()]

    def keys(self) -> list[K]:
        """Return all keys, the least recently used first."""
        return [key for key, _ in self.items()]

    def values(self) -> list[V]:
        """Return all values, the least recently used first."""
        return [value for _, value in self.items()]

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self._entries.clear()
            self.size = 0

    def __len__(self) -> int:
        return len(self._entries)
