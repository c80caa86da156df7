"""Feedback, and what was learned from it."""

from typing import Annotated

import msgspec

from toolscout.contract.bounds import MAX_CHAIN, MAX_EVENTS
from toolscout.contract.fields import MAX_DURATION_MS, EventText, ToolName


class FeedbackEvent(msgspec.Struct, frozen=True, kw_only=True):
    """That a tool was used for a pattern, and whether it did what was wanted."""

    pattern: EventText
    tool: ToolName
    success: bool
    duration_ms: Annotated[float, msgspec.Meta(ge=0, le=MAX_DURATION_MS)] | None = None
    session: EventText | None = None
    source: EventText | None = None
    catalog: Annotated[str, msgspec.Meta(max_length=64)] | None = None
    """Digest of the list that the tool was in; else the latest one with a tool of that name."""


class FeedbackBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Several events at once."""

    events: Annotated[tuple[FeedbackEvent, ...], msgspec.Meta(min_length=1, max_length=MAX_EVENTS)]


class FeedbackAnswer(msgspec.Struct, frozen=True):
    """How many events were kept."""

    accepted: int


class LearnedTool(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of one tool from use."""

    name: str
    successes: int
    failures: int
    success_rate: float
    patterns: int
    """Typical patterns that are kept of it."""
    typical_duration_ms: float | None = None
    content: str | None = None
    """Digest of the tool's content, where that was known."""


class LearningAnswer(msgspec.Struct, frozen=True):
    """What one tenant's feedback came to; the most used tools first."""

    observations: int
    tools: list[LearnedTool]


class ChainReport(msgspec.Struct, frozen=True, kw_only=True):
    """Tools that were used one after the other for an intent, and whether that worked."""

    intent: EventText
    chain: Annotated[tuple[ToolName, ...], msgspec.Meta(min_length=2, max_length=MAX_CHAIN)]
    success: bool


class InsightAnswer(msgspec.Struct, frozen=True):
    """The chain that fits a pattern, empty when none is known; confidence is 0 to 1."""

    chain: list[str]
    confidence: float
    evidence: int
    """How often the chain was reported."""
