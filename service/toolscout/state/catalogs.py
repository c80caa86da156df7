"""Catalogs by digest for all replicas, in the state store.

Keys contain the tenant, so none reaches another's tools. A request waits only a few milliseconds
for the store: without its answer, a digest is unknown, and the caller sends its tools.
"""

import asyncio

from toolscout.index.catalog import Catalog
from toolscout.state.guarded import Guard
from toolscout.state.keys import CATALOG, key
from toolscout.state.store import StoreUnavailable

READ_S = 2.0
WRITE_S = 5.0
KEPT_S = 7 * 86_400.0
"""Seconds that a list is stored after it was last compiled anywhere."""

MAX_WRITES = 16
"""Maximum number of concurrent writes; further lists are left to other processes."""


class SharedCatalogs:
    """Tool lists in the state store, by tenant and digest."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._writes: set[asyncio.Task[None]] = set()

    def keep(self, tenant: str, catalog: Catalog) -> None:
        """Write a list to the store in the background; a failure is only counted."""
        if len(self._writes) < MAX_WRITES and not self._guard.is_open("put"):
            writing = asyncio.create_task(self._write(tenant, catalog))
            self._writes.add(writing)
            writing.add_done_callback(self._writes.discard)

    async def find(self, tenant: str, digest: str) -> bytes | None:
        """Return the JSON array of a list's tools; None if it is absent or cannot be read."""
        try:
            reading = self._guard.store.get(key(CATALOG, tenant, digest))
            return await self._guard.run("get", reading, READ_S)
        except StoreUnavailable:
            return None

    async def _write(self, tenant: str, catalog: Catalog) -> None:
        raw = b"[" + b",".join(catalog.wires) + b"]"
        writing = self._guard.store.put(key(CATALOG, tenant, catalog.digest), raw, KEPT_S)
        try:
            await self._guard.run("put", writing, WRITE_S)
        except StoreUnavailable:
            return
