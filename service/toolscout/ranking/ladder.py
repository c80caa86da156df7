"""The latency ladder: choose a ranker that fits into the remaining time.

Rankers are tried from the requested one downwards. Their costs are estimated from recent
measurements, so the ladder adapts to the machine; callers pass the time.
"""

RUNGS: dict[str, tuple[str, ...]] = {
    "auto": ("auto", "bm25", "keyword"),
    "hybrid": ("hybrid", "bm25", "keyword"),
    "rrf": ("rrf", "bm25", "keyword"),
    "semantic": ("semantic", "bm25", "keyword"),
    "bm25": ("bm25", "keyword"),
    "okapi": ("okapi", "bm25", "keyword"),
    "regex": ("regex", "keyword"),
}
"""For each ranker, its substitutes when time is short, cheapest last."""

FIRST_GUESS_MS = {
    "keyword": 0.05,
    "bm25": 0.1,
    "regex": 1.0,
    "pattern": 3.0,
    "compile": 0.15,
    "scan": 0.02,
    "read": 0.02,
}
"""Cost before the first measurement: of compile and scan per tool, of reading and scanning together
per KiB of tools, of matching a pattern per MiB of text, of the others per question. The part of a
name after a colon distinguishes kinds.
"""

OTHER_GUESS_MS = 0.2
"""Cost of anything else before it was measured."""

PESSIMISM = 2.0
"""Factor on estimates, because a late answer is worse for the caller than a simpler one."""

_OUTLIER = 5.0
"""Multiple of the estimate at which a measurement is capped: the machine may have stalled."""

_FORGIVENESS = 0.95
"""Factor on an estimate each time it made a ranker too expensive to try."""

_MEMORY = 0.9
"""Weight of the old estimate after a new measurement."""


class Costs:
    """Running estimates of costs, in milliseconds."""

    def __init__(self) -> None:
        self._mean = dict(FIRST_GUESS_MS)

    def learn(self, what: str, milliseconds: float) -> None:
        """Record one measurement, capped at a multiple of the estimate."""
        mean = self._average(what)
        clipped = min(milliseconds, _OUTLIER * mean)
        self._mean[what] = _MEMORY * mean + (1.0 - _MEMORY) * clipped

    def _average(self, what: str) -> float:
        kind = what.partition(":")[0]
        return self._mean.get(what, FIRST_GUESS_MS.get(kind, OTHER_GUESS_MS))

    def forget(self, what: str) -> None:
        """Lower an estimate that kept a ranker from being tried and measured."""
        if what in self._mean:
            self._mean[what] *= _FORGIVENESS

    def expected(self, what: str, times: float = 1.0) -> float:
        """Return the average cost of `what`."""
        return times * self._average(what)

    def estimate(self, what: str, times: float = 1.0) -> float:
        """Return the expected cost of `what`, with a safety margin."""
        return PESSIMISM * self.expected(what, times)


def find_affordable(ranker: str, remaining_ms: float, costs: Costs, size: int) -> str | None:
    """Return the substitute to run, or None if the requested ranker fits.

    The last substitute is taken at any cost, because a late answer is better than none.
    """
    rungs = RUNGS[ranker]
    for rung in rungs[:-1]:
        what = f"{rung}:{find_bucket(size)}"
        if costs.estimate(what) <= remaining_ms:
            return None if rung == ranker else rung
        if remaining_ms > 0:  # else no estimate is why nothing fits
            costs.forget(what)
    return rungs[-1]


def find_bucket(size: int) -> int:
    """Group catalogs of similar size, and therefore cost: return the bit length of the size."""
    return size.bit_length()
