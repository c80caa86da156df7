"""The protocol of a state store: values by key, and logs that are only appended to.

Every store keeps the same promises, and one contract test holds all of them to it:

- `put` with `expected` writes only if the value has not changed since it was read;
- what `append` and `put` have returned from is there after the process was killed, unless the
  store lives in memory;
- positions of a log only grow, also after it was trimmed or dropped.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

SCHEMA = 1
"""Version of what is kept. A file of a newer version is refused and left as it is; in Redis every
version has keys of its own."""


class StoreUnavailable(Exception):  # noqa: N818 - a state, not a bug
    """The store could not be reached, did not answer in time, or refused to write."""


class StoreFull(StoreUnavailable):
    """The store has no room; what is deleted makes some."""


class Entry(NamedTuple):
    """One entry of a log; `position` is opaque and is only passed back to `read`."""

    position: str
    value: bytes


START = ""
"""The position before the first entry."""


class StateStore(Protocol):
    """Values and logs. All methods raise `StoreUnavailable` when the store cannot serve them."""

    async def get(self, key: str) -> bytes | None:
        """The value of a key, None when there is none or its time is up."""

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Set a value, for some seconds or for good."""

    async def swap(
        self, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None = None
    ) -> bool:
        """Set a value (None: delete it) if the present one is `expected` (None: there is none)."""

    async def delete(self, key: str) -> None:
        """Remove a value, whatever it is."""

    async def keys(self, prefix: str) -> list[str]:
        """The keys that begin so, in order."""

    async def share(self, prefix: str) -> float:
        """Which part of all that may be kept the values of these keys take; 0 without a limit."""

    async def append(self, log: str, values: Sequence[bytes], keep: int) -> None:
        """Add entries; of all entries at least the last `keep` stay, and not many more."""

    async def read(self, log: str, after: str = START, limit: int = 1_000) -> list[Entry]:
        """Entries behind a position, oldest first."""

    async def drop(self, log: str) -> None:
        """Remove a log's entries."""

    async def close(self) -> None:
        """Let go of files and connections."""
