"""What one request did: for the headers of its answer, its metrics and its line in the log."""

from dataclasses import dataclass, field
from math import ceil

from toolscout.contract import DEFAULT_TOP_K
from toolscout.index.catalog import Catalog
from toolscout.ranking.ask import Decision


@dataclass(slots=True)
class Trace:
    """What a request did, for its headers, its metrics and its line in the log."""

    tenant: str = ""
    pattern: str = ""
    top_k: int = DEFAULT_TOP_K
    cache: str = "-"
    catalog: str = ""
    offered: int = 0
    passed_over: int = 0
    unique: int = 0
    decision: Decision | None = None
    source: Catalog | None = None
    """The catalog that the decision was made from, where it was compiled."""
    degraded: str = ""
    """The cheaper ranker that answered, where the call is no search."""
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds per phase."""
    coarse: bool = False
    """Whether the caller is told whole milliseconds only: tenants share the process's word caches,
    and microseconds would say which words others have used."""

    def shown_ms(self) -> dict[str, float]:
        """Milliseconds per phase, as the caller is told them."""
        if self.coarse:
            return {phase: ceil(spent * 1_000) for phase, spent in self.phases.items()}
        return {phase: round(spent * 1_000, 3) for phase, spent in self.phases.items()}
