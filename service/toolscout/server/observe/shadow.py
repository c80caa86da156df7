"""The shadow ranker: a candidate whose selections are compared with the answers, in metrics only.

It runs in a separate thread after an answer was sent, pauses while requests are being answered, and
drops questions when too many wait. The metrics have the overlap of the two selections, and the time
of the candidate. No text is kept.
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
"""Maximum number of waiting questions; more are dropped and counted."""

PAUSE_S = 0.001
MAX_PAUSES = 100
"""Maximum number of pauses of one question while requests are answered: 0.1 s in all."""


class Shadow:
    """Repeats searches with a second ranker."""

    def __init__(
        self, ranker: RankerName, engine: Engine, metrics: Metrics, busy: Callable[[], bool]
    ) -> None:
        """Take the candidate; `busy` tells whether requests are being answered now."""
        self._ranker = ranker
        self._engine = engine
        self._metrics = metrics
        self._busy = busy
        self._waiting = 0
        self._pool = DaemonPool(1, "shadow")

    def follow(self, answered: Decision) -> None:
        """Compare with an answer that was sent; call from the event loop; returns immediately.

        Answers from tools without index or vectors are skipped: the candidate needs both.
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
        """Drop waiting questions."""
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
    """Return the share of the longer selection that both have, 0 to 1; 1 if both are empty."""
    longer = max(len(first), len(second))
    return len(set(first) & set(second)) / longer if longer else 1.0
