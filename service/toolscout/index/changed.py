"""Lists of which a few tools have changed: only those are compiled, in the process that serves.

Callers write a date into a description, or a server adds a tool, and post the whole list as one
that nobody has sent. Its entries are compared with those of the latest lists by their hashes.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import sha256
from threading import Lock
from typing import NamedTuple

import msgspec

from toolscout.common.lru import Lru
from toolscout.errors import NOT_JSON, ToolscoutError
from toolscout.index.catalog import Catalog
from toolscout.index.increment import Change, make_change
from toolscout.index.tool_list import ToolList, split_entries
from toolscout.index.vector_index import QUANTISED_ABOVE

MOST_CHANGED = 20
"""New tools, or missing ones, up to which a list counts as changed: each takes some .3 ms."""

MOST_CHANGED_BYTES = 16 * 1024
"""Bytes of new tools up to which it does; beyond, the worker has them as soon."""

MOST_COMMAS = 500_000
"""Commas of a list up to which it is compared with others; tools have some fifteen each. A list
with many more commas than one may be many more entries, which are not even split."""

MAX_COMPARED = 128
"""Lists of a caller that are compared with a new one: the ones used last, each by a few hashes."""

MAX_CALLERS = 4_096
"""Callers whose lists are compared."""

SAMPLED = 8
"""Entries that are looked up first; a list of which half are unknown is a new one."""

KEY_BYTES = 16

ENTRY_BYTES = 200
"""About what is kept of an entry."""


class Entries(msgspec.Struct, frozen=True):
    """The entries of a list as they were sent, hashed, by row."""

    keys: bytes
    commas: int


class _Known(NamedTuple):
    digest: str
    rows: dict[bytes, int]
    """By the hash of an entry."""
    commas: int


def read_entries(raw: bytes, tools: ToolList) -> Entries | None:
    """Return what tells a list from one that differs in a few tools.

    None for a list that is not plainly an array of distinct tools, and for a very long one.
    """
    commas = raw.count(b",")
    is_long = len(tools.tools) > QUANTISED_ABOVE or commas > MOST_COMMAS
    if is_long or not _is_plain(tools):
        return None
    entries = _read_entries(raw)
    if entries is None:
        return None
    keys = b"".join([_hash_entry(entries[place]) for place in tools.places])
    return Entries(keys, commas)


class LatestLists:
    """The lists that each caller has used last, all bounded in bytes together; thread-safe."""

    def __init__(self, limit: int) -> None:
        self._lists: Lru[tuple[str, str], _Known] = Lru(limit)
        self._digests: Lru[str, dict[str, None]] = Lru(MAX_CALLERS)
        """Those of each caller, the one used last at the end; some are not kept any more."""
        self._lock = Lock()

    def __contains__(self, space: str) -> bool:
        """Whether any list of a caller is kept."""
        return bool(self._digests.peek(space))

    def touch(self, space: str, digest: str) -> None:
        """Note that a list was used, if it is kept."""
        if self._lists.get((space, digest)) is not None:
            self._put_last(space, digest)

    def keep(self, space: str, catalog: Catalog, entries: Entries) -> None:
        """Keep a list that is compiled, unless a tool is missing, or some have examples.

        How examples count depends on all of them.
        """
        keys = [entries.keys[at : at + KEY_BYTES] for at in range(0, len(entries.keys), KEY_BYTES)]
        if len(keys) > len(catalog) or catalog.examples or catalog.vectors is None:
            return
        rows = {key: row for row, key in enumerate(keys)}
        listed = _Known(catalog.digest, rows, entries.commas)
        self._lists.put((space, catalog.digest), listed, ENTRY_BYTES * len(rows))
        self._put_last(space, catalog.digest)

    def compare(
        self, space: str, raw: bytes, compiled: Callable[[str], Catalog | None], limit: int
    ) -> Change | None:
        """Return how a list differs from that list used last which it nearly equals.

        None if it equals none of those that are still compiled, or has a fault.
        """
        # More commas than a few tools add are more entries, which would take long to split.
        commas = raw.count(b",") - MOST_CHANGED_BYTES
        latest = [each for each in self._find_latest(space) if each.commas >= commas]
        entries = _read_entries(raw) if latest else None
        if entries is None:
            return None
        sample = [*map(_hash_entry, entries[:: max(1, len(entries) // SAMPLED)])]
        keys: list[bytes] = []
        for listed in latest:
            if 2 * sum(key in listed.rows for key in sample) < len(sample):
                continue
            base = compiled(listed.digest)
            if base is None:
                continue
            keys = keys or [*map(_hash_entry, entries)]
            sent = frozenset(keys)
            new = [entries[at] for at, key in enumerate(keys) if key not in listed.rows]
            gone = {row for key, row in listed.rows.items() if key not in sent}
            nbytes = sum(memoryview(entry).nbytes for entry in new)
            is_near = max(len(new), len(gone)) <= MOST_CHANGED and nbytes <= MOST_CHANGED_BYTES
            if is_near and len(sent) == len(keys):
                return _change(base, len(keys), gone, new, limit)
        return None

    def _find_latest(self, space: str) -> Iterator[_Known]:
        """Yield the lists of a caller that are kept, the one used last first."""
        with self._lock:
            digests = [*(self._digests.get(space) or ())]
        for digest in reversed(digests):
            if (listed := self._lists.peek((space, digest))) is not None:
                yield listed

    def _put_last(self, space: str, digest: str) -> None:
        with self._lock:
            digests = self._digests.get(space)
            if digests is None:
                digests = {}
                self._digests.put(space, digests)
            elif next(reversed(digests)) == digest:
                return
            digests.pop(digest, None)
            digests[digest] = None
            if len(digests) > MAX_COMPARED:
                del digests[next(iter(digests))]


def _change(
    base: Catalog,
    offered: int,
    gone: Collection[int],
    new: Sequence[msgspec.Raw],
    limit: int,
) -> Change | None:
    """Read the new entries; None where the whole list has to be read for its faults."""
    try:
        tools = ToolList.decode(b"[" + b",".join(new) + b"]", limit)
    except ToolscoutError:
        return None
    without = frozenset(base.names[row] for row in gone)
    names = {tool.name for tool in tools.tools}
    if not _is_plain(tools) or not names.isdisjoint(base.rows.keys() - without):
        return None
    if not 0 < offered <= limit:
        return None
    return make_change(base, without, tools)


def _is_plain(tools: ToolList) -> bool:
    """Whether each entry is one tool: of Gemini's, one may declare several, and some are none."""
    return tools.offered == len(set(tools.places))


def _read_entries(raw: bytes) -> list[msgspec.Raw] | None:
    """Return the entries of a list; None if it is no array, such as an object around one."""
    try:
        return split_entries(raw)
    except (msgspec.ValidationError, *NOT_JSON):
        return None


def _hash_entry(entry: msgspec.Raw) -> bytes:
    return sha256(entry).digest()[:KEY_BYTES]
