"""Bounds and simple types of the fields."""

from typing import Annotated, Literal, get_args

import msgspec

from toolscout.contract.bounds import (
    MAX_FILTER_CHARS,
    MAX_FILTER_VALUES,
    MAX_NAME_CHARS,
    MAX_NAMES,
    MAX_SIGNAL_CHARS,
    MAX_TURN_CHARS,
)

RankerName = Literal["auto", "regex", "bm25", "semantic", "hybrid", "rrf", "okapi"]
Outcome = Literal["match", "weak", "no_match"]
Level = Literal["names", "brief", "full"]
Stub = Literal["stub", "stub_python"]
"""A typed signature in TypeScript, or in Python."""
Detail = Literal[Level, Stub]
Status = Literal["available", "unavailable"]
Risk = Literal["read_only", "write_local", "write_remote", "destructive"]

CHOICES: dict[str, tuple[str, ...]] = {
    "ranker": get_args(RankerName),
    "detail": get_args(Detail),
    "max_risk": get_args(Risk),
}
"""The values of fields of requests that have few."""


DEFAULT_TOP_K = 5
NO_MATCH_BELOW = 0.02
"""Default relevance of the best tool below which there is no match: low, because a false no match
loses every tool, and a false weak match only shows poor ones."""
MAX_TOP_K = 1_000_000_000
MAX_DURATION_MS = 86_400_000
MAX_EVENT_CHARS = 4_096
MAX_BUDGET_TOKENS = 1_000_000_000
MAX_LATENCY_BUDGET_MS = 60_000

ToolName = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_CHARS)]
# Whole numbers, but decoded as floats: some callers' integers went through float64.
TopK = Annotated[float, msgspec.Meta(ge=1, le=MAX_TOP_K, multiple_of=1)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=MAX_TOP_K)]
Signal = Annotated[str, msgspec.Meta(max_length=MAX_SIGNAL_CHARS)]
BudgetTokens = Annotated[float, msgspec.Meta(ge=0, le=MAX_BUDGET_TOKENS, multiple_of=1)]
Score = Annotated[float, msgspec.Meta(ge=0, le=1)]
LatencyBudget = Annotated[float, msgspec.Meta(ge=1, le=MAX_LATENCY_BUDGET_MS, multiple_of=1)]


FilterValue = Annotated[str, msgspec.Meta(max_length=MAX_FILTER_CHARS)]
FilterValues = Annotated[tuple[FilterValue, ...], msgspec.Meta(max_length=MAX_FILTER_VALUES)]
Names = Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_NAMES)]


ABSENT = msgspec.Raw(b"")
"""An optional raw field that was not sent."""


EventText = Annotated[str, msgspec.Meta(max_length=MAX_EVENT_CHARS)]
Turn = Annotated[str, msgspec.Meta(max_length=MAX_TURN_CHARS)]
MAX_TTL_S = 10 * 365 * 86_400
Ttl = Annotated[float, msgspec.Meta(gt=0, le=MAX_TTL_S)]


def is_absent(raw: msgspec.Raw) -> bool:
    """Whether a raw field was left out or sent as null, which mean the same."""
    return raw is ABSENT or (len(memoryview(raw)) <= 4 and bytes(raw) in (b"", b"null"))
