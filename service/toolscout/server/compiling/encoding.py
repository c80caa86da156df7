"""The encoder as the serving process uses it: catalogs are encoded by and by, queries in time.

Nobody waits for a catalog: as long as its tools are not encoded, it is searched without. A query
is waited for within its budget, and nobody waits long for a worker that is slow.
"""

import asyncio
from collections import deque
from time import perf_counter

import msgspec
import numpy as np

from toolscout.common.lru import Lru
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.encoded import MAX_ENCODED
from toolscout.index.vectors import Floats
from toolscout.server.compiling.messages import Call, Encode
from toolscout.server.compiling.queue import CompileQueue
from toolscout.server.compiling.worker import Worker

TOOLS_AT_A_TIME = 8
"""Tools of one message: a quarter of a second of one core, then another tenant has its turn."""

TOOLS_WITHIN_S = 60.0
"""How long such a message may take: the thread stands back from everything else."""

MOST_WAITING = 256
"""Catalogs of one tenant that wait; what comes then is not encoded until it is compiled again."""

MIN_WAIT_S, MAX_WAIT_S = 0.015, 0.060
"""How long a query is waited for: not asked with less time left, and no longer with more."""

AT_ONCE = 4
"""Queries that are being encoded; while there are more, others are answered without."""

PAUSE_S = 1.0
"""How long nothing is asked after a query was late: one of many has to wait for that."""

QUERIES_KEPT = 4_096
"""Queries whose vectors are remembered, 1.5 KiB each."""


class _Waiting(msgspec.Struct):
    """A catalog whose tools are being encoded."""

    digest: str
    parts: list[Floats] = []


class Encoding:
    """Has catalogs and queries encoded in the worker."""

    def __init__(self, compiles: CompileQueue, cache: CatalogCache) -> None:
        self._compiles = compiles
        self._cache = cache
        self._waiting: dict[str, deque[_Waiting]] = {}
        """By tenant, the next one first."""
        self._wake = asyncio.Event()
        self._queries: Lru[tuple[str, str], Floats] = Lru(QUERIES_KEPT)
        self._asking = 0
        self._paused_until = 0.0

    def add(self, tenant: str, catalog: Catalog) -> None:
        """Have the tools of a new catalog encoded."""
        if len(catalog) > MAX_ENCODED or not len(catalog):
            return
        queue = self._waiting.setdefault(tenant, deque())
        if len(queue) < MOST_WAITING:
            queue.append(_Waiting(catalog.digest))
            self._wake.set()

    async def follow(self) -> None:
        """Encode what waits, a few tools of each tenant in turn, until cancelled."""
        while True:
            await self._wake.wait()
            if not self._waiting:
                self._wake.clear()
                continue
            tenant = next(iter(self._waiting))
            queue = self._waiting.pop(tenant)
            if await self._is_done(tenant, queue[0]):
                queue.popleft()
            # New ones may have come meanwhile; those of this tenant go behind the others now.
            queue.extend(self._waiting.pop(tenant, ()))
            if queue:
                self._waiting[tenant] = queue

    async def query(self, tenant: str, text: str, seconds: float) -> Floats | None:
        """The vector of a query if it is there within so many seconds, shape (384,)."""
        found = self._queries.get((tenant, text))
        if found is not None:
            return found
        if seconds < MIN_WAIT_S or self._asking >= AT_ONCE or perf_counter() < self._paused_until:
            return None
        self._asking += 1
        try:
            call = Call(tenant, _query, (text,))
            made: Floats | None = await self._compiles.ask(call, min(seconds, MAX_WAIT_S))
        except Exception:  # late, or failed: a search does without
            self._paused_until = perf_counter() + PAUSE_S
            return None
        finally:
            self._asking -= 1
        if made is not None:
            self._queries.put((tenant, text), made)
        return made

    async def _is_done(self, tenant: str, waiting: _Waiting) -> bool:
        """Encode the next tools of a catalog; say whether nothing of it is left to do."""
        catalog = self._cache.by_digest(tenant, waiting.digest)
        if catalog is None or catalog.encoded is not None:
            return True
        at = sum(map(len, waiting.parts))
        message = Encode(tenant, catalog.wires[at : at + TOOLS_AT_A_TIME])
        try:
            part = await self._compiles.ask(message, TOOLS_WITHIN_S)
        except Exception:  # the worker ended twice, or is far behind
            return True
        if part is None:
            return True
        waiting.parts.append(part)
        if at + len(part) < len(catalog):
            return False
        catalog = self._cache.by_digest(tenant, waiting.digest)
        if catalog is not None:
            self._cache.add(tenant, catalog.with_encoded(np.concatenate(waiting.parts)))
        return True


def _query(worker: Worker, text: str) -> Floats | None:
    return None if worker.encoder is None else worker.encoder.query(text)
