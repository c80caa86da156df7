"""Usage statistics of each tenant's searches in this process."""

from collections import Counter, defaultdict, deque

import numpy as np

from toolscout.common.lru import Lru
from toolscout.contract.answers import (
    CacheCounts,
    LearningSize,
    Quantiles,
    StatsAnswer,
    TokenTotals,
)
from toolscout.index.catalog import Catalog
from toolscout.server.observe.trace import Trace

LATEST = 2_048
"""Number of latest searches per ranker and phase for the quantiles."""


REMEMBERED = 1_000
"""Number of catalogs whose token totals are cached."""


def _latest() -> dict[str, deque[float]]:
    return defaultdict(lambda: deque(maxlen=LATEST))


class _Figures:
    def __init__(self) -> None:
        self.hot = 0
        self.outcomes: Counter[str] = Counter()
        self.cache: Counter[str] = Counter()
        self.times: dict[str, dict[str, deque[float]]] = defaultdict(_latest)
        self.offered = 0
        self.selected = 0

    def time(self, ranker: str, phases: dict[str, float]) -> None:
        for phase, spent in phases.items():
            self.times[ranker][phase].append(spent)


class Tally:
    """Adds up searches by tenant."""

    def __init__(self) -> None:
        self._figures: dict[str, _Figures] = defaultdict(_Figures)
        self._totals: Lru[str, int] = Lru(REMEMBERED)
        """Tokens of whole catalogs, by digest."""

    def note(self, trace: Trace, seconds: float) -> None:
        """Add the searches of a request that took so many seconds, or its call of `hot`."""
        phases = trace.phases | {"total": seconds}
        self._note_search(trace, phases)
        for part in trace.parts:
            self._note_search(part, part.phases)
        if trace.tiers is not None:
            figures = self._figures[trace.tenant]
            figures.hot += 1
            figures.time("hot", phases)
            figures.offered += trace.tiers.offered
            figures.selected += trace.tiers.total

    def _note_search(self, trace: Trace, phases: dict[str, float]) -> None:
        decision, catalog = trace.decision, trace.source
        if decision is None:
            return
        figures = self._figures[trace.tenant]
        figures.outcomes[decision.outcome] += 1
        figures.cache[trace.cache] += 1
        figures.time(decision.ranking.ran, phases)
        if catalog is not None:
            figures.offered += self._total(catalog)
            figures.selected += sum(map(catalog.tokens.item, decision.rows))

    def _total(self, catalog: Catalog) -> int:
        total = self._totals.get(catalog.digest)
        if total is None:
            total = int(catalog.tokens.sum())
            self._totals.put(catalog.digest, total)
        return total

    def of(
        self, tenant: str, learning: LearningSize | None, *, coarse: bool = False
    ) -> StatsAnswer:
        """Return one tenant's statistics; in whole milliseconds if `coarse`, as in `Trace`."""
        figures, digits = self._figures.get(tenant, _Figures()), 0 if coarse else 3
        return StatsAnswer(
            searches=figures.outcomes.total(),
            outcomes=dict(figures.outcomes),
            latency_ms={
                ranker: {phase: _quantiles(spent, digits) for phase, spent in phases.items()}
                for ranker, phases in figures.times.items()
            },
            cache=CacheCounts(figures.cache["hit"], figures.cache["miss"]),
            tokens=TokenTotals(
                figures.offered, figures.selected, figures.offered - figures.selected
            ),
            hot=figures.hot,
            learning=learning,
        )


def _quantiles(seconds: deque[float], digits: int) -> Quantiles:
    milliseconds = np.array(seconds) * 1_000
    if not digits:
        milliseconds = np.ceil(milliseconds)
    p50, p95, p99 = np.quantile(milliseconds, (0.5, 0.95, 0.99)).round(digits).tolist()
    return Quantiles(p50, p95, p99, len(seconds))
