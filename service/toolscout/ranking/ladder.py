"""The latency ladder: which ranker still fits into the time that is left.

Rankers are tried from the one asked for downwards. What each costs is learned from what it has
cost lately, so the ladder adapts to the machine; time itself is passed in.
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
"""For each ranker, what stands in for it when time is short, cheapest last."""

FIRST_GUESS_MS = {
    "keyword": 0.05,
    "bm25": 0.1,
    "regex": 1.0,
    "pattern": 3.0,
    "compile": 0.15,
    "scan": 0.02,
    "read": 0.02,
}
"""Cost before anything was measured: of compile and scan per tool, of reading and scanning together
per KiB of tools, of matching a pattern per MiB of text, of the others per question. What follows a
colon in a name tells kinds of one thing apart."""

OTHER_GUESS_MS = 0.2
"""Cost of anything else before it was measured."""

PESSIMISM = 2.0
"""Estimates are multiplied by this: a late answer costs the caller more than a plainer one."""

_OUTLIER = 5.0
"""Times the estimate at which a measurement is cut: a stalled machine says nothing of a ranker."""

_FORGIVENESS = 0.95
"""What is left of an estimate each time it made a rung look too dear."""

_MEMORY = 0.9
"""Share of the old estimate that a new measurement leaves standing."""


class Costs:
    """Running estimates of what things cost, in milliseconds."""

    def __init__(self) -> None:
        self._mean = dict(FIRST_GUESS_MS)

    def learn(self, what: str, milliseconds: float) -> None:
        """Take one measurement into account; one far off counts no more than one somewhat off."""
        known = self._known(what)
        clipped = min(milliseconds, _OUTLIER * known)
        self._mean[what] = _MEMORY * known + (1.0 - _MEMORY) * clipped

    def _known(self, what: str) -> float:
        kind = what.partition(":")[0]
        return self._mean.get(what, FIRST_GUESS_MS.get(kind, OTHER_GUESS_MS))

    def forget(self, what: str) -> None:
        """Lower an estimate that kept something from being tried: only trying it tells."""
        if what in self._mean:
            self._mean[what] *= _FORGIVENESS

    def expected(self, what: str, times: float = 1.0) -> float:
        """What `what` costs on average."""
        return times * self._known(what)

    def estimate(self, what: str, times: float = 1.0) -> float:
        """What `what` is expected to cost, on the safe side."""
        return PESSIMISM * self.expected(what, times)


def affordable(ranker: str, remaining_ms: float, costs: Costs, size: int) -> str | None:
    """The rung to step down to, or None when the ranker asked for fits.

    The last rung is taken whatever it costs: late words beat no answer.
    """
    rungs = RUNGS[ranker]
    for rung in rungs[:-1]:
        what = f"{rung}:{bucket(size)}"
        if costs.estimate(what) <= remaining_ms:
            return None if rung == ranker else rung
        costs.forget(what)
    return rungs[-1]


def bucket(size: int) -> int:
    """Catalogs of similar size cost alike: the number of binary digits of the size."""
    return size.bit_length()
