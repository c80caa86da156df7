"""The protocol of a state store: values by key, and append-only logs.

Every store keeps the same promises, which one contract test checks:

- `put` with `expected` writes only if the value has not changed since it was read;
- values of an `append` or `put` that returned survive a killed process, unless the store is in
  memory;
- `remove` is all or nothing, also if the process is killed;
- positions of a log only grow, even after it was trimmed or dropped, but where an older copy was
  restored: it no longer has the entry that was read last.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol
from urllib.parse import quote, unquote

CATALOG = "catalog"
"""Kind of the unregistered tool lists, by digest."""

RECOMPILABLE = CATALOG + "/"
"""Prefix of keys whose values may be evicted, because callers send the tools again."""


EPOCH = "learning-epoch"
"""Kind of the marks by which processes read what was learned again. They are written also where
there is only room for deletions, since an erasure needs them."""


def make_key(kind: str, tenant: str, *names: str) -> str:
    """Return a key; without names, the prefix of all keys of its kind and tenant."""
    return "/".join((kind, *(quote(part, safe="") for part in (tenant, *names))))


def find_last_name(key: str) -> str:
    """Return the last name in a key."""
    return unquote(key.rpartition("/")[2])


def is_mark(key: str) -> bool:
    """Return whether a key is that of a mark, which a full store takes, too."""
    return key.startswith(f"{EPOCH}/")


LAST_CHARACTER = "\U0010ffff"
"""Greater than any character of a key."""

SCHEMA = 1
"""Version of the stored data. A file of a newer version is refused and not changed; in Redis every
version has separate keys.
"""


class StoreUnavailable(Exception):  # noqa: N818 - a state, not a bug
    """The store could not be reached, did not answer in time, or refused to write."""

    event = "store_unavailable"
    """Its name in the log."""


class StoreRefused(StoreUnavailable):
    """The store is there and does not do this one thing; it may do another, for another tenant."""


class StoreFull(StoreRefused):
    """The store is full; deleting makes room."""


class StoreReplaced(StoreUnavailable):
    """The file of a store is another one, or gone."""

    event = "store_replaced"


class Changed(Exception):  # noqa: N818 - somebody was faster
    """A value has changed since it was read."""


class Entry(NamedTuple):
    """One entry of a log; `position` is opaque and is only passed back to `read`."""

    position: str
    value: bytes


START = ""
"""The position before the first entry."""


class StateStore(Protocol):
    """Values and logs. All methods raise `StoreUnavailable` when the store cannot serve them."""

    async def get(self, key: str) -> bytes | None:
        """Return the value of a key; None if missing or expired."""

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Set a value, for some seconds or without limit."""

    async def swap(
        self, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None = None
    ) -> bool:
        """Set a value (None: delete it) if the present one is `expected` (None: there is none)."""

    async def delete(self, key: str) -> None:
        """Remove a value, whatever it is."""

    async def now(self) -> float:
        """Return the store's time, in seconds since 1970; a file has that of its machine."""

    async def keys(self, prefix: str) -> list[str]:
        """Return the keys with a prefix, sorted."""

    async def share(self, prefix: str) -> float:
        """Return the share of the limit that the values of these keys take; 0 without a limit."""

    async def append(self, log: str, values: Sequence[bytes], keep: int) -> None:
        """Add entries; at least the last `keep` of all entries are kept, and not many more."""

    async def read(self, log: str, after: str = START, limit: int = 1_000) -> list[Entry]:
        """Return the entries after a position, oldest first."""

    async def has_entry(self, log: str, entry: Entry) -> bool:
        """Return whether an entry is there as it was read; of an older copy it may not be."""

    async def remove(self, log: str, positions: Sequence[str]) -> int:
        """Remove entries, all or none; return how many were still there."""

    async def logs(self, prefix: str) -> list[str]:
        """Return the logs with a prefix, sorted; some of them may be empty."""

    async def drop(self, log: str) -> None:
        """Remove a log's entries."""

    async def risk(self) -> str:
        """Return why what was written may be lost without a failure; empty if nothing is known."""

    async def close(self) -> None:
        """Close files and connections."""
