"""The encoder as the serving process uses it: catalogs in the background, queries in time.

Nobody waits for a catalog: as long as its tools are not encoded, it is searched without. A query
is waited for within its budget. Where the worker is slow or hangs, the queries that it owes keep
further ones from being put to it.
"""

import asyncio
from collections import deque
from time import perf_counter

import msgspec
import numpy as np

from toolscout.common.lru import Lru
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.encoder import MAX_ENCODED
from toolscout.index.vectors import Floats
from toolscout.server.compiling.encoder_thread import QUERIES_AT_ONCE
from toolscout.server.compiling.messages import Encode, EncodeQuery
from toolscout.server.compiling.queue import CompileQueue

TOOLS_AT_A_TIME = 8
"""Tools of one message: a quarter of a second of one core, then another tenant has its turn."""

DONE_WITHIN_S = 60.0
"""How long the worker may take: the thread for tools stands back from everything else."""

MOST_WAITING = 256
"""Catalogs of one tenant that wait; what comes then is not encoded until it is compiled again."""

MIN_WAIT_S, MAX_WAIT_S = 0.015, 0.100
"""How long a query is waited for: not asked with less time left, and no longer with more."""

FIRST_GUESS_S = 0.010
"""What a query is taken to cost before the first has been measured."""

PESSIMISM = 2.0
"""Factor on what is expected: a query that is late was waited for in vain."""

_MEMORY = 0.9
"""Weight of the old estimate after a new measurement."""

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
        self._mean_s = FIRST_GUESS_S
        """How long the worker takes for a query, others beside it included."""
        self._asking: dict[tuple[str, str], asyncio.Task[Floats | None]] = {}

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
        """Return the vector of a query if it is there within so many seconds, shape (384,)."""
        found = self._queries.get((tenant, text))
        if found is not None:
            return found
        asking = self._asking.get((tenant, text))
        if asking is None:
            turns = len(self._asking) // QUERIES_AT_ONCE + 1
            # One is asked however slow the last were, so that it is noticed when they are no more.
            is_slow = PESSIMISM * turns * self._mean_s > min(seconds, MAX_WAIT_S)
            if seconds < MIN_WAIT_S or (is_slow and self._asking):
                return None
            asking = asyncio.create_task(self._ask(tenant, text, turns))
            self._asking[tenant, text] = asking
        # What takes longer goes on, and the same query finds it then.
        await asyncio.wait([asking], timeout=min(seconds, MAX_WAIT_S))
        return asking.result() if asking.done() else None

    async def _ask(self, tenant: str, text: str, turns: int) -> Floats | None:
        began = perf_counter()
        try:
            message = EncodeQuery(tenant, text)
            found: Floats | None = await self._compiles.ask(message, DONE_WITHIN_S)
        except Exception:  # the worker ended twice, or the network failed: searches do without
            return None
        finally:
            del self._asking[tenant, text]
            spent = (perf_counter() - began) / turns
            self._mean_s = _MEMORY * self._mean_s + (1 - _MEMORY) * spent
        if found is not None:
            self._queries.put((tenant, text), found)
        return found

    async def _is_done(self, tenant: str, waiting: _Waiting) -> bool:
        """Encode the next tools of a catalog; say whether nothing of it is left to do."""
        catalog = self._cache.by_digest(tenant, waiting.digest)
        if catalog is None or catalog.encoded is not None:
            return True
        at = sum(map(len, waiting.parts))
        message = Encode(tenant, catalog.wires[at : at + TOOLS_AT_A_TIME])
        try:
            part = await self._compiles.ask(message, DONE_WITHIN_S)
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
