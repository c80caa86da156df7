"""Experience of all tenants: recorded in the state store, followed by every process.

An observation is first written to the tenant's log and then learned, so accepted observations
survive, and the next search of this process uses them. Other processes on the same store read the
log a moment later.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from secrets import token_hex
from time import perf_counter, time
from typing import Any

import msgspec

from toolscout.errors import NOT_JSON
from toolscout.index.catalog import Catalog
from toolscout.index.vectors import Embedder
from toolscout.learning.chains import Chains, Insight
from toolscout.learning.experience import Experience, Observation, Use
from toolscout.learning.patterns import pattern_vector
from toolscout.learning.prior import LearnedIndex
from toolscout.ranking.ask import Prior
from toolscout.ranking.chain import Chain
from toolscout.state.guarded import Guard
from toolscout.state.keys import key
from toolscout.state.store import START, StoreUnavailable
from toolscout.text.query import analyse

FOLLOW_S = 1.0
"""Seconds between reads of the logs for observations of other processes."""

KEEP = 100_000
"""Maximum number of observations in a tenant's log."""

WRITE_S, READ_S = 2.0, 5.0
"""Time limits for writing and reading observations; no search waits for either."""

PAGE = 500
SLICE_S = 0.005
"""Seconds of learning after which the event loop gets a turn; one long pattern takes as long."""

INDEXES = 8
"""Maximum number of a tenant's catalogs with a cached index."""

AT_ONCE = 1_000
"""Tools up to which an index is made while a search waits: a few milliseconds."""

RECENT = 64
"""Number of a tenant's latest catalogs in which an observed tool is looked up."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Observation).decode
_decode_tool = msgspec.json.Decoder(dict[str, Any]).decode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


class _Tenant:
    """The experience of one tenant, and the position in its log."""

    def __init__(self, half_life_days: float) -> None:
        self.experience = Experience()
        self.chains = Chains(half_life_days)
        self.position = START
        self.origin = token_hex(8)
        """Marks entries of the log that were learned here when they were recorded."""
        self.epoch: bytes | None = None
        """Changes when the log is reset."""
        self.indexes: OrderedDict[str, LearnedIndex] = OrderedDict()
        self.recent: OrderedDict[str, None] = OrderedDict()
        """Digests of the catalogs searched last, the latest at the end."""


class Learner:
    """Records observations and turns them into priors.

    Args:
        guard: the store.
        embedder: the model that embeds patterns.
        half_life_days: age at which an observation counts half.
        catalog: returns a tenant's catalog by its digest, if it is still cached.
    """

    def __init__(
        self,
        guard: Guard,
        embedder: Embedder,
        half_life_days: float,
        catalog: Callable[[str, str], Catalog | None],
        clock: Callable[[], float] = time,
    ) -> None:
        self._guard = guard
        self._embedder = embedder
        self._half_life = half_life_days
        self._catalog = catalog
        self._clock = clock
        self._tenants: dict[str, _Tenant] = {}
        self._digests: dict[str, tuple[str, ...]] = {}
        self._making: dict[str, asyncio.Task[None]] = {}
        """Indexes of large catalogs that are being made."""

    def experience(self, tenant: str) -> Experience:
        """Return the experience of a tenant."""
        return self._tenant(tenant).experience

    def use(self, tenant: str, catalog: Catalog, row: int) -> Use | None:
        """Return the results of calls of a catalog's tool; None if there are none."""
        content = _content_digest(catalog.wires[row])
        return self._tenant(tenant).experience.use(catalog.names[row], content)

    def prior(self, tenant: str, catalog: Catalog) -> Prior | None:
        """Return a function that scores a catalog's tools by experience; None without any."""
        known = self._tenant(tenant)
        known.recent[catalog.digest] = None
        known.recent.move_to_end(catalog.digest)
        if len(known.recent) > RECENT:
            known.recent.popitem(last=False)
        if not len(known.experience):
            return None
        index = self._index(known, catalog)
        if index is None:
            return None
        return lambda query, vectors: index.prior(pattern_vector(query, vectors))

    def insight(
        self, tenant: str, pattern: str, fits: Callable[[str], bool] = lambda _: True
    ) -> Insight | None:
        """Return the chain for a pattern, with only allowed tools; None if none is near."""
        known = self._tenant(tenant)
        if not len(known.chains):
            return None
        query = analyse(pattern)
        vectors = self._embedder.query(query.spoken)
        familiarity = 0.0 if vectors is None else vectors.familiarity
        vector = pattern_vector(query, vectors)
        return known.chains.insight(vector, familiarity, self._clock(), fits)

    def chain(self, tenant: str, pattern: str, catalog: Catalog) -> Chain | None:
        """Return the chain of a catalog's tools to follow for a pattern; None if none is near."""
        found = self.insight(tenant, pattern, catalog.rows.__contains__)
        return None if found is None else Chain(found.chain, found.confidence, found.proof)

    async def record(self, tenant: str, observations: Sequence[Observation]) -> None:
        """Store observations and learn from them.

        Raises:
            StoreUnavailable: they could not be stored; nothing was learned.
        """
        known = self._tenant(tenant)
        complete = [
            msgspec.structs.replace(
                seen,
                catalog="",
                digest=self._content(tenant, known, seen),
                time=self._clock(),
                origin=known.origin,
            )
            for seen in observations
        ]
        append = self._guard.store.append(key("learning", tenant), [*map(_encode, complete)], KEEP)
        await self._guard.run("append", append, WRITE_S)
        await self._learn(known, complete)

    async def reset(self, tenant: str) -> None:
        """Forget everything of a tenant, in every process.

        Raises:
            StoreUnavailable: the store failed, and some or all experience may remain.
        """
        store = self._guard.store
        epoch = token_hex(8).encode()
        # The epoch comes last: processes that see it read the log again, which must be empty.
        await self._guard.run("drop", store.drop(key("learning", tenant)), WRITE_S)
        await self._guard.run("put", store.put(key("learning-epoch", tenant), epoch), WRITE_S)
        fresh = self._tenants[tenant] = _Tenant(self._half_life)
        fresh.epoch = epoch

    async def follow(self, tenants: Iterable[str], report: Callable[[str], None]) -> None:
        """Read the logs, then the entries that other processes add, until cancelled."""
        for tenant in tenants:
            self._tenant(tenant)
        reached = True
        while True:
            for tenant in list(self._tenants):
                try:
                    await self._catch_up(tenant, report)
                    reached = True
                except StoreUnavailable as error:
                    if reached:
                        report(f"learning: {error}")
                    reached = False
            await asyncio.sleep(FOLLOW_S)

    async def _catch_up(self, tenant: str, report: Callable[[str], None]) -> None:
        """Learn the log's new entries, except those that were learned when they were recorded."""
        store, known = self._guard.store, self._tenant(tenant)
        epoch = await self._guard.run("get", store.get(key("learning-epoch", tenant)), READ_S)
        if epoch != known.epoch:
            known = self._tenants[tenant] = _Tenant(self._half_life)
            known.epoch = epoch
        while True:
            read = store.read(key("learning", tenant), known.position, PAGE)
            entries = await self._guard.run("read", read, READ_S)
            if not entries or self._tenants.get(tenant) is not known:
                return
            known.position = entries[-1].position
            seen = []
            for entry in entries:
                try:
                    seen.append(_decode(entry.value))
                except msgspec.MsgspecError as error:
                    report(f"learning: an entry of the log was passed over: {error}")
            await self._learn(known, [one for one in seen if one.origin != known.origin])

    async def _learn(self, known: _Tenant, observations: Sequence[Observation]) -> None:
        began = perf_counter()
        for observation in observations:
            query = analyse(observation.pattern)
            vectors = self._embedder.query(query.spoken)
            vector = pattern_vector(query, vectors)
            if observation.chain:
                known.chains.learn(observation.chain, observation, vector)
            else:
                known.experience.learn(observation, vector)
            if perf_counter() - began > SLICE_S:
                await asyncio.sleep(0)
                began = perf_counter()

    def _index(self, known: _Tenant, catalog: Catalog) -> LearnedIndex | None:
        """Return the index of a catalog; None while a thread makes that of a large one."""
        now, digest = self._clock(), catalog.digest
        index = known.indexes.get(digest)
        if index is None or not index.is_current(known.experience, now):
            if len(catalog) > AT_ONCE and digest not in self._making:
                self._making[digest] = asyncio.create_task(self._make_beside(known, catalog, now))
            if len(catalog) > AT_ONCE:
                return None
            known.indexes[digest] = index = self._make(known, catalog, now)
        known.indexes.move_to_end(digest)
        if len(known.indexes) > INDEXES:
            known.indexes.popitem(last=False)
        return index

    def _make(self, known: _Tenant, catalog: Catalog, now: float) -> LearnedIndex:
        keys = list(zip(catalog.names, self._contents(catalog), strict=True))
        return LearnedIndex(keys, known.experience, self._half_life, now)

    async def _make_beside(self, known: _Tenant, catalog: Catalog, now: float) -> None:
        try:
            index = await asyncio.to_thread(self._make, known, catalog, now)
            known.indexes[catalog.digest] = index
        finally:
            del self._making[catalog.digest]

    def _content(self, tenant: str, known: _Tenant, seen: Observation) -> str:
        """Return the digest of a tool's content in the named or the latest catalog that has it."""
        for digest in [seen.catalog] if seen.catalog else reversed(known.recent):
            catalog = self._catalog(tenant, digest)
            row = None if catalog is None else catalog.rows.get(seen.tool)
            if catalog is not None and row is not None:
                return _content_digest(catalog.wires[row])
        return ""

    def _contents(self, catalog: Catalog) -> tuple[str, ...]:
        """Return the content digests of a catalog's tools."""
        known = self._digests.get(catalog.digest)
        if known is None:
            if len(self._digests) >= RECENT:
                self._digests.clear()
            known = self._digests[catalog.digest] = tuple(map(_content_digest, catalog.wires))
        return known

    def _tenant(self, tenant: str) -> _Tenant:
        known = self._tenants.get(tenant)
        if known is None:
            known = self._tenants[tenant] = _Tenant(self._half_life)
        return known


def _content_digest(wire: bytes) -> str:
    """Return a digest of a tool that ignores its status, and spaces and order of its JSON."""
    with suppress(*NOT_JSON):  # invalid annotations are compared as they were sent
        tool = _decode_tool(wire)
        tool.pop("status", None)
        wire = _encode_sorted(tool)
    return sha256(wire).hexdigest()[:16]
