"""Lists of which a few tools have changed: only those are compiled, in the process that serves.

Callers write a date into a description, or a server adds a tool, and post the whole list as one
that nobody has sent. Its entries are compared with those of the latest lists by their hashes; the
catalog that comes of it is to the last bit the one that compiling the whole list makes.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import sha256
from threading import Lock
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np

from toolscout.common.lru import Lru
from toolscout.errors import NOT_JSON, ToolscoutError
from toolscout.index.catalog import Catalog, Embedded
from toolscout.index.compile import CompiledTool, Compiler, compile_tool
from toolscout.index.lines import TextLines
from toolscout.index.tool_list import ToolList, hash_catalog, split_entries
from toolscout.index.vector_index import QUANTISED_ABOVE, index_vectors
from toolscout.tools.documents import read_at, read_tool

T = TypeVar("T")

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
DIGEST_BYTES = 32

ENTRY_BYTES = 200
"""About what is kept of an entry."""


class Entries(msgspec.Struct, frozen=True):
    """The entries of a list as they were sent, hashed, and the digests of their tools, by row."""

    keys: bytes
    digests: bytes
    commas: int


class Change(NamedTuple):
    """How a list differs from a catalog."""

    base: Catalog
    digest: str
    offered: int
    gone: frozenset[str]
    tools: ToolList
    """Those that are new."""


class _Known(NamedTuple):
    digest: str
    rows: dict[bytes, int]
    """By the hash of an entry."""
    digests: bytes
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
    return Entries(keys, b"".join(tools.digests), commas)


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
        listed = _Known(catalog.digest, rows, entries.digests, entries.commas)
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
                return _change(base, listed, len(keys), gone, new, limit)
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
    latest: _Known,
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
    stay = [DIGEST_BYTES * row for row in range(len(base)) if row not in gone]
    digests = [latest.digests[at : at + DIGEST_BYTES] for at in stay]
    return Change(base, hash_catalog([*digests, *tools.digests]), offered, without, tools)


def make_catalog(change: Change, compiler: Compiler) -> Catalog | None:
    """Return the catalog of a changed list; None if a new tool has examples.

    Raises:
        Exception: a new tool cannot be compiled.
    """
    base = change.base
    new = change.tools
    compiled = {
        tool.name: compile_tool(tool, read_at(tool, place), compiler.taxonomy)
        for tool, place in zip(new.tools, new.places, strict=True)
    }
    gone = (base.tool(base.rows[name]) for name in change.gone)
    former = {tool.name: compile_tool(tool, read_tool(tool), compiler.taxonomy) for tool in gone}
    embedded = compiler.vectors([*compiled.values()])
    if base.vectors is None or embedded is None or embedded.examples:
        return None
    names = tuple(sorted((base.rows.keys() - change.gone) | compiled.keys()))
    rows = {name: row for row, name in enumerate(names)}
    before = [-1 if name in compiled else base.rows[name] for name in names]
    moved = [-1 if name in change.gone else rows[name] for name in base.names]
    tools = {rows[name]: tool for name, tool in compiled.items()}

    def merged(parts: Sequence[T], part_of: Callable[[CompiledTool], T]) -> list[T]:
        changed = [parts[row] for row in before]  # of a new tool the last one, until it is replaced
        for row, tool in tools.items():
            changed[row] = part_of(tool)
        return changed

    named, before_named = (
        {name: tool.spellings for name, tool in some.items()} for some in (compiled, former)
    )
    spellings = base.spellings
    if named != before_named:
        spellings = spellings.with_changes(moved, {rows[name]: one for name, one in named.items()})
    available = base.facets.available
    is_available = [True] * len(base) if available is None else available.tolist()
    catalog = compiler.catalog(
        change.digest,
        names,
        base.postings.with_changes(
            np.array(moved, np.int32),
            {row: tool.counts for row, tool in tools.items()},
            [tool.counts for tool in former.values()],
        ),
        spellings,
        TextLines(merged(base.lines.pairs(), lambda tool: tool.lines)),
        np.array(merged(base.tokens.tolist(), lambda tool: tool.tokens), np.int64),
        merged(base.facets.clues, lambda tool: tool.clues),
        np.array(merged(is_available, lambda tool: tool.available), np.bool_),
        tuple(merged(base.wires, lambda tool: tool.wire)),
        merged(base.prerequisites.needs, lambda tool: tool.needs),
    )
    vectors = base.vectors.rows[before]
    vectors[[rows[name] for name in compiled]] = embedded.vectors.rows
    return catalog.with_vectors(Embedded(index_vectors(vectors), ()))


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
