"""Usage statistics."""

import msgspec


class Quantiles(msgspec.Struct, frozen=True):
    """Percentiles of the latest searches' durations, in milliseconds."""

    p50: float
    p95: float
    p99: float
    count: int


class CacheCounts(msgspec.Struct, frozen=True):
    """Searches of compiled lists, and of new ones."""

    hits: int
    misses: int


class TokenTotals(msgspec.Struct, frozen=True):
    """Estimated prompt tokens of offered and of selected tools, and the difference."""

    offered: int
    selected: int
    saved: int


class LearningSize(msgspec.Struct, frozen=True):
    """Number of reported calls, and of the tools they concern."""

    observations: int
    tools: int


class StatsAnswer(msgspec.Struct, frozen=True):
    """Usage of one tenant in this process since its start."""

    searches: int
    outcomes: dict[str, int]
    latency_ms: dict[str, dict[str, Quantiles]]
    """By ranker, then by phase."""
    cache: CacheCounts
    tokens: TokenTotals
    hot: int = 0
    """Calls of `hot`; their times are under `hot`, their tokens are included."""
    learning: LearningSize | None = None
    """None while learning is off."""
