"""A candidate ranker in the shadow of the one that answers: compared, never seen by callers.

It runs in a thread of its own after an answer was sent, steps aside while requests are being
answered, and drops questions when too many wait. What comes of it are figures: how far the two
selections overlap, and how long the candidate took. No text is kept.
"""

import time
from collections.abc import Callable

import msgspec

from toolscout.common.threads import DaemonPool
from toolscout.contract import RankerName
from toolscout.engine import Engine
from toolscout.index.source import Source
from toolscout.ranking.ask import Ask, Decision
from toolscout.server.observe.metrics import Metrics

MAX_WAITING = 64
"""Questions that wait at most; more are dropped and counted."""

PAUSE_S = 0.001
MAX_PAUSES = 100
"""How long one question steps aside for requests: 0.1 s at most."""


class Shadow:
    """Asks a second ranker what was asked of the first."""

    def __init__(
        self, ranker: RankerName, engine: Engine, metrics: Metrics, busy: Callable[[], bool]
    ) -> None:
        """Take the candidate; `busy` says whether requests are being answered now."""
        self._ranker = ranker
        self._engine = engine
        self._metrics = metrics
        self._busy = busy
        self._waiting = 0
        self._pool = DaemonPool(1, "shadow")

    def follow(self, answered: Decision) -> None:
        """Compare with an answer that was sent; call from the event loop, returns at once.

        Answers from tools that are not compiled, or not embedded yet, are left out: the candidate
        could not show what it can do.
        """
        source = answered.ranking.source
        if source.vectors is None:
            self._metrics.shadow.labels("skipped").inc()
        elif self._waiting >= MAX_WAITING:
            self._metrics.shadow.labels("dropped").inc()
        else:
            self._waiting += 1
            asked = msgspec.structs.replace(answered.ranking.ask, ranker=self._ranker)
            self._pool.submit(self._compare, source, asked, answered.names)

    def close(self) -> None:
        """Drop what waits."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _compare(self, catalog: Source, ask: Ask, answered: list[str]) -> None:
        try:
            for _ in range(MAX_PAUSES):
                if not self._busy():
                    break
                time.sleep(PAUSE_S)
            began = time.perf_counter()
            names = self._engine.decide(catalog, ask).names
            spent = time.perf_counter() - began
            self._metrics.count_shadow(overlap(answered, names), spent)
        except Exception:
            self._metrics.shadow.labels("failed").inc()
        finally:
            self._waiting -= 1


def overlap(first: list[str], second: list[str]) -> float:
    """Share of the longer selection that both have, 0 to 1; two empty ones agree."""
    longer = max(len(first), len(second))
    return len(set(first) & set(second)) / longer if longer else 1.0
