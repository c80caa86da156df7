"""Figures of use."""

import msgspec


class Quantiles(msgspec.Struct, frozen=True):
    """Milliseconds that half, 95 % and 99 % of the latest searches stayed below."""

    p50: float
    p95: float
    p99: float
    count: int


class CacheCounts(msgspec.Struct, frozen=True):
    """Searches whose tools were known, and those whose were new."""

    hits: int
    misses: int


class TokenTotals(msgspec.Struct, frozen=True):
    """Estimated prompt tokens of all tools offered and selected, and what was saved."""

    offered: int
    selected: int
    saved: int


class LearningSize(msgspec.Struct, frozen=True):
    """How much feedback there was, and of how many tools."""

    observations: int
    tools: int


class StatsAnswer(msgspec.Struct, frozen=True):
    """What one tenant's searches came to in this process, since it started."""

    searches: int
    outcomes: dict[str, int]
    latency_ms: dict[str, dict[str, Quantiles]]
    """By ranker, then by phase."""
    cache: CacheCounts
    tokens: TokenTotals
    hot: int = 0
    """Turns that tools were prepared for; their times stand under `hot`, their tokens are in."""
    learning: LearningSize | None = None
    """None while learning is off."""
