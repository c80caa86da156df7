"""Experience of all tenants: recorded in the state store, followed by every process.

An observation is first written to the tenant's log and then learned, so accepted observations
survive, and the next search of this process uses them. Other processes on the same store read the
log a moment later. Without a store, nothing is written.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from math import inf
from time import monotonic, time

from msgspec.structs import replace

from toolscout.experience.chains import Insight
from toolscout.experience.examples import ExamplePriors
from toolscout.experience.prior import HALF_LIFE_S, prior_of
from toolscout.experience.reported import DAY_S, Experience, Observation, ReportedUse
from toolscout.experience.turns import ReportedTurn, hash_texts, identify_source, report_of
from toolscout.index.catalog import Catalog
from toolscout.index.embedder import Embedder
from toolscout.index.pattern_vectors import LAYOUT, pack, pack_text, read_pattern, unpack
from toolscout.learning.indexes import hash_content
from toolscout.learning.log import KEPT_S, Erasure, Report, Seen, Slices, find_unfinished
from toolscout.learning.retention import AgingLog
from toolscout.learning.tenants import Tenant, Tenants
from toolscout.ranking import scoring
from toolscout.ranking.ask import Ask, Decision, Prior, Ranking
from toolscout.ranking.choose import Chain
from toolscout.state.guarded import Guard
from toolscout.state.store import StoreRefused, StoreUnavailable
from toolscout.text.query import analyse
from toolscout.tools.filters import tenant_of

FOLLOW_S = 1.0
"""Seconds between reads of the logs for observations of other processes."""


class Learner:
    """Records observations and turns them into priors.

    Args:
        guard: the store; None where observations are not written to one at all.
        embedder: the model that embeds patterns.
        catalog: returns a tenant's catalog by its digest, if it is still cached.
        model: the name of the model; vectors of other models cannot be compared.
        kept_s: seconds after which they are deleted.
        suspected: is told where most of a log would be too old at once.
        steady: counts seconds, whatever the clock is set to.
    """

    def __init__(  # noqa: PLR0913  # the parts that it joins
        self,
        guard: Guard | None,
        embedder: Embedder,
        catalog: Callable[[str, str], Catalog | None],
        clock: Callable[[], float] = time,
        *,
        model: str = "",
        kept_s: float = KEPT_S,
        suspected: Callable[[str], object] = lambda _: None,
        steady: Callable[[], float] = monotonic,
    ) -> None:
        self.guard = guard
        self.embedder = embedder
        self.catalog = catalog
        self.clock = clock
        self.model = model
        self.kept_s = kept_s
        self.suspected = suspected
        self.steady = steady
        self._tenants = Tenants()
        self._examples = ExamplePriors()
        self._aged: float = -inf
        """When what is too old was looked for."""
        self._unread = set[str]()
        """Tenants whose logs the store refuses, and "" where it is away."""
        self._model = f"{model}/{LAYOUT}"
        self._log: AgingLog | None = None
        if guard is not None:
            self._log = AgingLog(guard, self._model, kept_s, suspected, steady)
        self._began = clock() - steady()
        """The time at which `steady` was 0."""

    @property
    def held_logs(self) -> int:
        """Number of logs of which most would be too old at once, and which are kept for now."""
        return 0 if self._log is None else self._log.held

    def experience(self, tenant: str) -> Experience:
        """Return the experience of a tenant."""
        return self._tenants.of(tenant).experience

    def use(self, tenant: str, catalog: Catalog, row: int) -> ReportedUse | None:
        """Return the results of calls of a catalog's tool; None if there are none."""
        content = hash_content(catalog.wires[row])
        return self.experience(tenant).use(catalog.names[row], content)

    def prior(self, tenant: str, catalog: Catalog) -> Prior | None:
        """Return a function that scores tools by experience and examples; None without any."""
        learned = self._tenants.of(tenant)
        learned.note(catalog.digest)
        index = learned.indexes.of(catalog, self.clock()) if len(learned.experience) else None
        # While a thread makes the index of a large catalog, its examples count all the same.
        return self._examples.of(catalog, tenant) if index is None else prior_of(index)

    def find_insight(
        self, tenant: str, pattern: str, fits: Callable[[str], bool] = lambda _: True
    ) -> Insight | None:
        """Return the chain for a pattern, with only allowed tools; None if none is near."""
        learned = self._tenants.of(tenant)
        if not len(learned.chains):
            return None
        query = analyse(pattern)
        vectors = self.embedder.query(query.embedding_words)
        familiarity = 0.0 if vectors is None else vectors.familiarity
        read = read_pattern(query, vectors)
        return learned.chains.find_insight(read, familiarity, self.clock(), fits)

    def chain(self, tenant: str, pattern: str, catalog: Catalog) -> Chain | None:
        """Return the chain of a catalog's tools to follow for a pattern; None if none is near."""
        insight = self.find_insight(tenant, pattern, catalog.rows.__contains__)
        return None if insight is None else insight.chain

    async def remember(self, tenant: str, turn: str, decision: Decision) -> None:
        """Remember the pattern of a turn, so that feedback may name the turn instead."""
        ranking = decision.ranking
        now = self.clock()
        ask = ranking.ask
        catalog = ranking.source.digest
        if ranking.ranker == "hybrid":
            pattern = read_pattern(ranking.query, ranking.vectors)
            searched = ReportedTurn(now, catalog, unpacked=pattern)
        else:
            texts = [*(message.text for message in reversed(ask.earlier)), ask.ranking_part]
            searched = ReportedTurn(now, catalog, vector=await self._pack("\n".join(texts)))
        turns = self._tenants.of(tenant).turns
        turns.remember(hash_texts(turn), searched, write=self._log is not None)

    async def record(
        self, tenant: str, observations: Sequence[Observation], key: str = "", space: str = ""
    ) -> list[Observation]:
        """Store observations and learn from them.

        A key that sees a part of the tools, its `space`, reports on none but those.

        Returns those that counted: not those of unknown turns, equal ones of a turn once, and of
        one key at most `REPORTS_PER_SOURCE` for a pattern and a tool within a half-life.

        Raises:
            StoreUnavailable: they could not be stored; nothing was learned.
        """
        learned = self._tenants.of(tenant)
        slices = Slices()
        elsewhere = any(self._is_elsewhere(learned, seen) for seen in observations)
        if self._log is not None and elsewhere:
            turns = await self._log.read_turns(tenant, learned.last)
            for name, turn in turns.items():
                learned.turns.remember(name, turn, write=False)
        complete = list[Seen]()
        batch = Counter[str]()
        for seen in observations:
            completed = await self._complete(space or tenant, learned, seen, key)
            # What does not count is not stored either, where it would push out what does.
            if completed is not None and learned.turns.count_in_batch(completed[0], batch):
                complete.append(completed)
            await slices.pause()
        if self._log is not None and complete:
            stored = [seen for seen, _ in complete]
            try:
                await self._log.append(tenant, stored)
            except StoreUnavailable:
                learned.note_refused(stored)
                raise
        return await learned.learn(complete)

    async def reset(self, tenant: str) -> None:
        """Forget everything of a tenant, in every process.

        Raises:
            StoreUnavailable: the store failed, and some or all experience may remain.
        """
        epoch = None if self._log is None else await self._log.drop(tenant)
        self._tenants.renew(tenant).epoch = epoch

    async def forget(self, tenant: str, subjects: Collection[str]) -> bool:
        """Forget the reports with all of these subjects, in every process; whether any had them.

        What is in memory alone cannot be told apart: there everything of the tenant is forgotten.

        Raises:
            StoreUnavailable: the store failed, and some of them may remain; what was begun is
                finished by any process, or by the next call.
        """
        if self._log is None:
            return self._tenants.renew(tenant) is not None
        erasure = Erasure(subjects=tuple(sorted(subjects)))
        is_known = self._tenants.of(tenant).knows(erasure.subjects)
        epoch = await self._log.forget(tenant, erasure, is_known=is_known)
        if epoch is not None:
            self._tenants.renew(tenant).epoch = epoch
        return epoch is not None

    async def follow(self, tenants: Iterable[str], report: Report) -> None:
        """Read the logs, then the entries that other processes add, until cancelled."""
        slices = Slices()
        for tenant in tenants:
            self._tenants.of(tenant)
            await slices.pause()
        while True:
            await self.catch_up(report)
            await asyncio.sleep(FOLLOW_S)

    async def catch_up(self, report: Report) -> None:
        """Read what other processes have added, and forget what is too old."""
        is_daily = self.steady() - self._aged >= DAY_S
        if self._log is None:
            if self.steady() - self._aged >= DAY_S / 24:
                self._aged = self.steady()
                # However the clock is set meanwhile.
                before = self._began + self._aged - self.kept_s
                for learned in self._tenants.values():
                    learned.forget(before)
            return
        for tenant in self._tenants.keys():  # noqa: SIM118  # it cannot be iterated
            try:
                await self._catch_up(self._log, tenant, report)
                self._unread -= {tenant, ""}
            except StoreUnavailable as error:
                whose = tenant if isinstance(error, StoreRefused) else ""
                if whose not in self._unread:
                    report(f"learning of {whose}: {error}" if whose else f"learning: {error}")
                self._unread.add(whose)
        if "" not in self._unread and is_daily:
            self._aged = self.steady()
            await self._log.tidy_others(self._tenants.keys(), report)

    async def _catch_up(self, log: AgingLog, tenant: str, report: Report) -> None:
        """Write the latest turns, and learn what others have added to the logs since."""
        if (learned := self._tenants.peek(tenant)) is None:
            return
        if turns := learned.turns.take_unwritten():
            with suppress(StoreUnavailable):  # then only this process knows them
                await log.append_turns(tenant, turns)
        is_gone = await log.is_older(tenant, learned.last)
        epoch = await log.epoch(tenant)  # afterwards: an erasure is begun before it removes
        if self._tenants.peek(tenant) is not learned:
            return  # forgotten meanwhile
        begun = find_unfinished(epoch) if epoch == learned.epoch else None
        if begun is not None:  # whoever began it has had a second
            epoch = await log.finish(tenant, begun)
        if is_gone and epoch == learned.epoch:
            report("learning: the store is an older copy; what it has is read anew")
        if is_gone or epoch != learned.epoch:
            learned = self._tenants.renew(tenant)
            learned.epoch = epoch
        await self._read(log, tenant, learned, report)
        if log.is_due(tenant):
            # After reading, for a full store can still be read.
            await log.tidy(tenant)

    async def _read(self, log: AgingLog, tenant: str, learned: Tenant, report: Report) -> None:
        skipped = 0
        while True:
            seen, count = await log.read(tenant, learned.last, report)
            if not count or self._tenants.peek(tenant) is not learned:
                break
            fitting = [one for one in seen if not log.is_foreign(one[0])]
            skipped += len(seen) - len(fitting)
            await learned.learn([one for one in fitting if not learned.take_if_learned(one[0])])
        if skipped and not learned.foreign:
            report(f"learning: {skipped} observations of another model were skipped")
        learned.foreign += skipped

    def _is_elsewhere(self, learned: Tenant, seen: Observation) -> bool:
        """Whether only another process may know the turn of an observation."""
        return not seen.pattern and learned.turns.find(hash_texts(seen.turn), self.clock()) is None

    async def _complete(
        self, space: str, learned: Tenant, seen: Observation, key: str
    ) -> Seen | None:
        """Add what the process knows of an observation, and replace its text by a vector.

        None if it was counted before, its turn is unknown, or its tool not in the space.
        """
        report = report_of(seen)
        if learned.turns.is_counted(report):
            return None
        turn = learned.turns.find(hash_texts(seen.turn), self.clock()) if seen.turn else None
        if not seen.pattern and turn is None:
            return None
        catalogs = [seen.catalog] if seen.catalog else learned.recent
        if turn is not None and not seen.catalog:
            catalogs = [turn.catalog, *catalogs]
        cached = (self.catalog(space, name) for name in catalogs)
        catalog = next((one for one in cached if one is not None and seen.tool in one.rows), None)
        if catalog is None and space != tenant_of(space):
            return None
        if turn is not None and not seen.pattern:
            packed = turn.pack()
        else:
            packed = await self._pack(seen.pattern, catalog)
        now = self.clock()
        complete = replace(  # as other processes will read it
            seen,
            pattern="",
            catalog="",
            digest=hash_content(catalog.wires[catalog.rows[seen.tool]]) if catalog else "",
            time=now,
            origin=learned.origin,
            vector=packed,
            model=self._model,
            turn="",
            report=report,
        )
        source = identify_source(key, complete, int(now // HALF_LIFE_S))
        return replace(complete, source=source), unpack(packed)

    async def prepare(self, text: str) -> None:
        """Load what the text of another language needs, without holding up the event loop."""
        if self.embedder.needs_languages(text):
            await asyncio.to_thread(self.embedder.load_languages)

    async def _pack(self, pattern: str, catalog: Catalog | None = None) -> bytes:
        """Return a pattern as a vector: as a search of the catalog reads it, if that is known."""
        await self.prepare(pattern)
        if catalog is None:
            return pack_text(pattern, self.embedder)
        ask = Ask(pattern=pattern, ranker="hybrid")
        ranking = Ranking(ask=ask, source=catalog, embedder=self.embedder)
        query = scoring.read(ranking).query
        return pack(read_pattern(query, scoring.embed(query, catalog, self.embedder)))
