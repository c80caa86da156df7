"""Usage statistics of each tenant's searches in this process."""

from collections import Counter, deque
from typing import NamedTuple

import numpy as np

from toolscout.common.lru import Lru
from toolscout.contract.answers import (
    CacheCounts,
    LearningSize,
    Quantiles,
    StatsAnswer,
    TierTokens,
    TokenTotals,
)
from toolscout.index.catalog import Catalog
from toolscout.ranking.ask import Decision

LATEST = 2_048
"""Number of latest searches per ranker and phase for the quantiles."""


REMEMBERED = 1_000
"""Number of catalogs whose token totals are cached."""


class Note(NamedTuple):
    """One search; durations in seconds by phase; the catalog is None if it was not compiled."""

    tenant: str
    decision: Decision
    cache: str
    phases: dict[str, float]
    catalog: Catalog | None


class _Figures:
    def __init__(self) -> None:
        self.hot = 0
        self.outcomes: Counter[str] = Counter()
        self.cache: Counter[str] = Counter()
        self.times: dict[str, dict[str, deque[float]]] = {}
        self.offered = 0
        self.selected = 0

    def time(self, ranker: str, phases: dict[str, float]) -> None:
        times = self.times.setdefault(ranker, {})
        for phase, spent in phases.items():
            known = times.get(phase)
            if known is None:
                known = times[phase] = deque(maxlen=LATEST)
            known.append(spent)


class Tally:
    """Adds up searches by tenant."""

    def __init__(self) -> None:
        self._of: dict[str, _Figures] = {}
        self._totals: Lru[str, int] = Lru(REMEMBERED)
        """Tokens of whole catalogs, by digest."""

    def note(self, note: Note) -> None:
        """Add one search."""
        tenant, decision, cache, phases, catalog = note
        figures = self._figures(tenant)
        figures.outcomes[decision.outcome] += 1
        figures.cache[cache] += 1
        figures.time(decision.ranking.ran, phases)
        if catalog is not None:
            figures.offered += self._total(catalog)
            figures.selected += sum(map(catalog.tokens.item, decision.rows))

    def note_hot(self, tenant: str, phases: dict[str, float], tokens: TierTokens) -> None:
        """Add one call of `hot`."""
        figures = self._figures(tenant)
        figures.hot += 1
        figures.time("hot", phases)
        figures.offered += tokens.offered
        figures.selected += tokens.total

    def _figures(self, tenant: str) -> _Figures:
        figures = self._of.get(tenant)
        if figures is None:
            figures = self._of[tenant] = _Figures()
        return figures

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
        figures, digits = self._of.get(tenant, _Figures()), 0 if coarse else 3
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
