"""The trace of one request, for its headers, its metrics and its log line."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from time import perf_counter

from toolscout.contract.answers import TierTokens
from toolscout.contract.fields import DEFAULT_TOP_K
from toolscout.index.catalog import Catalog
from toolscout.ranking.ask import Decision


@dataclass(slots=True)
class Trace:
    """Everything that headers, metrics and log need of a request."""

    tenant: str = ""
    key: str = ""
    """The name of the caller's key: the beginning of its hash."""
    pattern: str = ""
    top_k: int = DEFAULT_TOP_K
    cache: str = "-"
    catalog: str = ""
    offered: int = 0
    unnamed: int = 0
    unique: int = 0
    decision: Decision | None = None
    source: Catalog | None = None
    """The catalog of the decision, if it was compiled."""
    degraded: str = ""
    """The cheaper ranker that answered, if the call is no search."""
    parts: Sequence["Trace"] = ()
    """The searches of a batch."""
    tiers: TierTokens | None = None
    """The tokens in an answer of `hot`."""
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds per phase."""
    started: float = field(default_factory=perf_counter)
    coarse: bool = False
    """Whether timings are whole milliseconds: tenants share the process's word caches, and
    microseconds would reveal which words others have used.
    """

    def part(self, pattern: str) -> "Trace":
        """Add and return a trace for one of several decisions about the same tools."""
        return replace(self, pattern=pattern, phases={})

    def add_parts(self, parts: Sequence["Trace"]) -> None:
        """Count decisions as searches of the tools that were found."""
        for part in parts:
            part.cache, part.catalog = self.cache, self.catalog
            part.offered, part.unique = self.offered, self.unique
            part.unnamed = self.unnamed
        self.parts = parts

    def shown_ms(self) -> dict[str, float]:
        """Return the milliseconds per phase for the caller, and in all, with every wait."""
        phases = self.phases | {"total": perf_counter() - self.started}
        if self.coarse:
            return {phase: ceil(spent * 1_000) for phase, spent in phases.items()}
        return {phase: round(spent * 1_000, 3) for phase, spent in phases.items()}
