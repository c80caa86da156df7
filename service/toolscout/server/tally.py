"""Figures of each tenant's searches in this process.

A search only notes what it did; several times a second the notes are added up, so that no search
waits for arithmetic.
"""

from collections import Counter, deque
from typing import NamedTuple

import numpy as np

from toolscout.catalog.catalogue import Catalogue
from toolscout.contract import CacheCounts, LearningSize, Quantiles, StatsAnswer, TokenTotals
from toolscout.ranking.strategy import Decision

LATEST = 2_048
"""Searches per ranker and phase that the quantiles are of."""


class Note(NamedTuple):
    """One search; durations in seconds by phase, the catalogue None where none was compiled."""

    tenant: str
    decision: Decision
    cache: str
    phases: dict[str, float]
    catalogue: Catalogue | None


class _Figures:
    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.cache: Counter[str] = Counter()
        self.times: dict[str, dict[str, deque[float]]] = {}
        self.offered = 0
        self.selected = 0


class Tally:
    """Adds up what searches note."""

    def __init__(self) -> None:
        self._notes: list[Note] = []
        self._of: dict[str, _Figures] = {}

    def note(self, note: Note) -> None:
        """Take one search."""
        self._notes.append(note)

    def add_up(self) -> None:
        """Add the notes up; called several times a second, and before anybody looks."""
        notes, self._notes = self._notes, []
        for tenant, decision, cache, phases, catalogue in notes:
            figures = self._of.setdefault(tenant, _Figures())
            figures.outcomes[decision.outcome] += 1
            figures.cache[cache] += 1
            times = figures.times.setdefault(decision.ranking.ranker, {})
            for phase, spent in phases.items():
                times.setdefault(phase, deque(maxlen=LATEST)).append(spent)
            if catalogue is not None:
                figures.offered += int(catalogue.tokens.sum())
                figures.selected += int(catalogue.tokens[decision.rows].sum())

    def of(self, tenant: str, learning: LearningSize | None) -> StatsAnswer:
        """One tenant's figures."""
        self.add_up()
        figures = self._of.get(tenant, _Figures())
        return StatsAnswer(
            searches=figures.outcomes.total(),
            outcomes=dict(figures.outcomes),
            latency_ms={
                ranker: {phase: _quantiles(spent) for phase, spent in phases.items()}
                for ranker, phases in figures.times.items()
            },
            cache=CacheCounts(figures.cache["hit"], figures.cache["miss"]),
            tokens=TokenTotals(
                figures.offered, figures.selected, figures.offered - figures.selected
            ),
            learning=learning,
        )


def _quantiles(seconds: deque[float]) -> Quantiles:
    p50, p95, p99 = (np.quantile(seconds, (0.5, 0.95, 0.99)) * 1_000).round(3).tolist()
    return Quantiles(p50, p95, p99, len(seconds))
