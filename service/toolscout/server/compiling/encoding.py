"""The encoder as the serving process uses it: catalogs in the background, queries in time.

Nobody waits for a catalog: as long as its tools are not encoded, it is searched without. A query
is waited for within its budget. Where the worker is slow or hangs, the queries that it owes keep
further ones from being put to it.
"""

import asyncio
from collections import Counter, defaultdict

import numpy as np

from toolscout.common.lru import Lru
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.encoder import MAX_ENCODED
from toolscout.index.vectors import Floats
from toolscout.server.compiling.queue import CompileQueue
from toolscout.server.compiling.worker import QUERIES_AT_ONCE, encode_query, encode_tools

TOOLS_AT_A_TIME = 8
"""Tools of one message: a quarter of a second of one core, then another tenant has its turn."""

DONE_WITHIN_S = 60.0
"""How long the worker may take: the thread for tools stands back from everything else."""

MOST_WAITING = 256
"""Catalogs of one tenant that wait; what comes then is not encoded until it is compiled again."""

MIN_WAIT_S, MAX_WAIT_S = 0.015, 0.100
"""How long a query is waited for: not asked with less time left, and no longer with more."""

MOST_ASKED = 4 * QUERIES_AT_ONCE
"""Queries that the worker may owe: of more, the last would be too late."""

QUERIES_KEPT = 4_096
"""Queries whose vectors are remembered, 1.5 KiB each."""


class Encoding:
    """Has catalogs and queries encoded in the worker."""

    def __init__(self, compiles: CompileQueue, cache: CatalogCache) -> None:
        self._compiles = compiles
        self._cache = cache
        self._waiting: Counter[str] = Counter()
        """Catalogs by tenant."""
        self._turns: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Each tenant's catalogs are encoded one after the other."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._queries: Lru[tuple[str, str], Floats] = Lru(QUERIES_KEPT)
        self._asking: dict[tuple[str, str], asyncio.Task[Floats | None]] = {}

    def add(self, tenant: str, catalog: Catalog) -> None:
        """Have the tools of a new catalog encoded."""
        if 0 < len(catalog) <= MAX_ENCODED and self._waiting[tenant] < MOST_WAITING:
            self._waiting[tenant] += 1
            task = asyncio.create_task(self._encode(tenant, catalog.digest))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def query(self, tenant: str, text: str, seconds: float) -> Floats | None:
        """Return the vector of a query if it is there within so many seconds, shape (384,)."""
        found = self._queries.get((tenant, text))
        if found is not None:
            return found
        asking = self._asking.get((tenant, text))
        if asking is None:
            if seconds < MIN_WAIT_S or len(self._asking) >= MOST_ASKED:
                return None
            asking = asyncio.create_task(self._ask(tenant, text))
            self._asking[tenant, text] = asking
        # What takes longer goes on, and the same query finds it then.
        await asyncio.wait([asking], timeout=min(seconds, MAX_WAIT_S))
        return asking.result() if asking.done() else None

    async def _ask(self, tenant: str, text: str) -> Floats | None:
        try:
            found: Floats | None = await self._compiles.ask(
                DONE_WITHIN_S, "query", tenant, encode_query, text
            )
        except Exception:  # the worker ended twice, or the network failed: searches do without
            return None
        finally:
            del self._asking[tenant, text]
        if found is not None:
            self._queries.put((tenant, text), found)
        return found

    async def _encode(self, tenant: str, digest: str) -> None:
        """Encode a catalog, a few tools at a time, as long as it is kept."""
        parts: list[Floats] = []
        at = 0
        try:
            async with self._turns[tenant]:
                while catalog := self._cache.by_digest(tenant, digest):
                    if at == len(catalog):
                        encoded = catalog.with_encoded(np.concatenate(parts))
                        if encoded.nbytes <= self._cache.catalog_limit:
                            self._cache.add(tenant, encoded)
                    if at == len(catalog) or catalog.encoded is not None:
                        return
                    wires = catalog.wires[at : at + TOOLS_AT_A_TIME]
                    part = await self._compiles.ask(
                        DONE_WITHIN_S, "encode", tenant, encode_tools, tenant, wires
                    )
                    if part is None:
                        return
                    parts.append(part)
                    at += len(part)
        except Exception:  # the worker ended twice, or is far behind: searches do without
            return
        finally:
            self._waiting[tenant] -= 1
