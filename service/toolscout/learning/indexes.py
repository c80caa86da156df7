"""The indexes of catalogs, made when a search first needs them: large ones in a thread.

A tool is known by its name and a digest of its content that every process computes alike.
"""

import asyncio
from contextlib import suppress
from hashlib import sha256
from typing import Any

import msgspec

from toolscout.common.lru import Lru
from toolscout.errors import NOT_JSON
from toolscout.experience.prior import LearnedIndex
from toolscout.experience.reported import Experience
from toolscout.index.catalog import Catalog

INDEXES = 8
"""Maximum number of catalogs of a tenant with a cached index."""

CATALOGS = 64
"""Maximum number of catalogs of which the digests of the tools are kept, or that a tenant is known
to search."""

MAX_INLINE_TOOLS = 1_000
"""Tools of a catalog up to which an index is made while a search waits: some 10 ms."""

MAX_INLINE_USED_TOOLS = 300
"""Tools with experience up to which an index is made while a search waits: some 25 ms."""

_decode_tool = msgspec.json.Decoder(dict[str, Any]).decode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_digests: Lru[str, tuple[str, ...]] = Lru(CATALOGS)
"""The content digests of tools, by the digest of their catalog."""


class Indexes:
    """The indexes of the catalogs that one tenant searches."""

    def __init__(self, experience: Experience) -> None:
        self._experience = experience
        self._made: Lru[tuple[str, str], LearnedIndex] = Lru(INDEXES)
        self._making: dict[tuple[str, str], asyncio.Task[LearnedIndex]] = {}

    def of(self, catalog: Catalog, now: float) -> LearnedIndex | None:
        """Return the index of a catalog; while a thread makes a large one, the last or None."""
        key = _key_of(catalog)
        index = self._made.get(key)
        if index is not None and index.bring_up_to_date(self._experience, now):
            return index
        used = len(self._experience) + len(catalog.examples) // 8
        if len(catalog) <= MAX_INLINE_TOOLS and used <= MAX_INLINE_USED_TOOLS:
            return self._make(catalog, now)
        if key not in self._making:
            making = asyncio.create_task(asyncio.to_thread(self._make, catalog, now))
            self._making[key] = making
            making.add_done_callback(lambda _: self._making.pop(key))
        return index

    def _make(self, catalog: Catalog, now: float) -> LearnedIndex:
        keys = list(zip(catalog.names, _hash_contents(catalog), strict=True))
        index = LearnedIndex(keys, self._experience, now, catalog)
        self._made.put(_key_of(catalog), index)
        return index


def _key_of(catalog: Catalog) -> tuple[str, str]:
    """Return what decides which examples a catalog has: its content, and the overlay."""
    return catalog.digest, catalog.adjusted.overlay


def hash_content(wire: bytes) -> str:
    """Return a digest of a tool that ignores its status, and spaces and order of its JSON."""
    with suppress(*NOT_JSON):  # invalid annotations are compared as they were sent
        tool = _decode_tool(wire)
        tool.pop("status", None)
        wire = _encode_sorted(tool)
    return sha256(wire).hexdigest()[:16]


def _hash_contents(catalog: Catalog) -> tuple[str, ...]:
    """Return the content digests of a catalog's tools."""
    digests = _digests.get(catalog.digest)
    if digests is None:
        digests = tuple(map(hash_content, catalog.wires))
        _digests.put(catalog.digest, digests)
    return digests
