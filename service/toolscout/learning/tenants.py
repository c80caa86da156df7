"""The experience of each tenant with the parts that belong to it, bounded over all tenants.

A tool is known by its name and a digest of its content that every process computes alike.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from secrets import token_hex
from typing import Any

import msgspec

from toolscout.common.lru import Lru
from toolscout.errors import NOT_JSON
from toolscout.index.catalog import Catalog
from toolscout.learning.chains import Chains
from toolscout.learning.experience import MAX_TOOLS, Experience
from toolscout.learning.prior import INDEXES, LearnedIndex
from toolscout.learning.turns import Turns

CATALOGS = 64
"""Maximum number of catalogs of which the digests are cached."""

_decode_tool = msgspec.json.Decoder(dict[str, Any]).decode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


class Contents:
    """The content digests of catalogs' tools.

    Args:
        catalog: returns a tenant's catalog by its digest, if it is still cached.
    """

    def __init__(self, catalog: Callable[[str, str], Catalog | None]) -> None:
        self._catalog = catalog
        self._known: Lru[str, tuple[str, ...]] = Lru(CATALOGS)

    def find(self, tenant: str, tool: str, catalogs: Iterable[str]) -> Catalog | None:
        """Return the first catalog that has a tool, if it is still cached."""
        known = (self._catalog(tenant, digest) for digest in catalogs)
        return next((each for each in known if each is not None and tool in each.rows), None)

    def of(self, catalog: Catalog) -> tuple[str, ...]:
        """Return the content digests of a catalog's tools."""
        known = self._known.get(catalog.digest)
        if known is None:
            known = tuple(map(content_digest, catalog.wires))
            self._known.put(catalog.digest, known)
        return known


def content_digest(wire: bytes) -> str:
    """Return a digest of a tool that ignores its status, and spaces and order of its JSON."""
    with suppress(*NOT_JSON):  # invalid annotations are compared as they were sent
        tool = _decode_tool(wire)
        tool.pop("status", None)
        wire = _encode_sorted(tool)
    return sha256(wire).hexdigest()[:16]


INDEXED_AT_ONCE, USED_AT_ONCE = 1_000, 300
"""Tools of a catalog, and tools with experience, up to which an index is made while a search waits:
some 10 and 25 ms.
"""

SUBJECTS = 100_000
"""Maximum number of sessions and sources of one tenant that are remembered, as many as a log has
entries."""

MAX_TENANTS = 4_096
"""Maximum number of tenants with experience; the one that was used longest ago is dropped first,
and read again from the store, if one is set, when it comes back.
"""

ALL_TOOLS = 4 * MAX_TOOLS
"""Maximum number of tools of all tenants together (about 200 MB), in equal shares."""


class Tenant:
    """The experience of one tenant, and the positions in its logs."""

    def __init__(self, contents: Contents) -> None:
        self.experience = Experience()
        self.chains = Chains()
        self.turns = Turns()
        self.positions: dict[str, str] = {}
        """Positions of the last entries that were read, by log."""
        self.origin = token_hex(8)
        """Marks entries of the log that were learned here when they were recorded."""
        self.epoch: bytes | None = None
        """Changes when the logs are dropped."""
        self.foreign = 0
        """Entries of other models, which were passed over."""
        self._subjects: OrderedDict[tuple[str, ...], None] = OrderedDict()
        self._contents = contents
        self._latest = ""
        self._recent: OrderedDict[str, None] = OrderedDict()
        self._indexes: Lru[str, LearnedIndex] = Lru(INDEXES)
        self._making: dict[str, asyncio.Task[None]] = {}
        """Indexes of large catalogs that are being made."""

    def note_subjects(self, subjects: tuple[str, ...]) -> None:
        """Note whom a report names that was learned, the latest of them."""
        if subjects:
            self._subjects[subjects] = None
            if len(self._subjects) > SUBJECTS:
                self._subjects.popitem(last=False)

    def knows(self, subjects: tuple[str, ...]) -> bool:
        """Whether a report was learned that names all of these."""
        wanted = set(subjects)
        return any(wanted <= {*named} for named in self._subjects)

    def note(self, digest: str) -> None:
        """Note that a catalog was searched."""
        if digest == self._latest:
            return
        self._latest = digest
        self._recent[digest] = None
        self._recent.move_to_end(digest)
        if len(self._recent) > CATALOGS:
            self._recent.popitem(last=False)

    @property
    def recent(self) -> Iterator[str]:
        """Digests of the catalogs searched last, the latest first."""
        return reversed(self._recent)

    def index(self, catalog: Catalog, now: float) -> LearnedIndex | None:
        """Return the index of a catalog; while a thread makes a large one, the last or None."""
        digest = catalog.digest
        index = self._indexes.get(digest)
        if index is None or not index.is_current(self.experience, now):
            used = len(self.experience) + len(catalog.examples) // 8
            if len(catalog) > INDEXED_AT_ONCE or used > USED_AT_ONCE:
                if digest not in self._making:
                    making = asyncio.create_task(self._make_beside(catalog, now))
                    self._making[digest] = making
                return index
            index = self._make(catalog, now)
            self._indexes.put(digest, index)
        return index

    def _make(self, catalog: Catalog, now: float) -> LearnedIndex:
        keys = list(zip(catalog.names, self._contents.of(catalog), strict=True))
        return LearnedIndex(keys, self.experience, now, catalog)

    async def _make_beside(self, catalog: Catalog, now: float) -> None:
        try:
            self._indexes.put(catalog.digest, await asyncio.to_thread(self._make, catalog, now))
        finally:
            del self._making[catalog.digest]


class Tenants:
    """The tenants, bounded in number and in tools of all together."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._known: OrderedDict[str, Tenant] = OrderedDict()
        self._latest = ""

    def get(self, name: str) -> Tenant:
        """Return a tenant, which becomes the one used last."""
        known = self._known.get(name)
        if known is None:
            return self.renew(name)
        if name != self._latest:
            self._latest = name
            self._known.move_to_end(name)
        return known

    def renew(self, name: str) -> Tenant:
        """Return a tenant anew, without experience."""
        known = self._known[name] = Tenant(self._contents)
        self._known.move_to_end(name)
        self._latest = name
        while len(self._known) > MAX_TENANTS:
            self._known.popitem(last=False)
        share = min(MAX_TOOLS, ALL_TOOLS // len(self._known))
        for each in self._known.values():
            each.experience.bound(share)
        return known

    def peek(self, name: str) -> Tenant | None:
        """Return a tenant without making or using it."""
        return self._known.get(name)

    def forget(self, before: float) -> None:
        """Forget of each tenant what was reported last before a time."""
        for known in self._known.values():
            known.experience.forget(before)
            known.chains.forget(before)

    def names(self) -> list[str]:
        """Return the names of the tenants with experience."""
        return list(self._known)
