"""Which content a tool has, by a digest that every process computes alike."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha256
from typing import Any

import msgspec

from toolscout.common.lru import Lru
from toolscout.errors import NOT_JSON
from toolscout.index.catalog import Catalog

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
