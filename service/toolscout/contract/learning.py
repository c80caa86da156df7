"""Feedback, and what was learned from it."""

from typing import Annotated

import msgspec

from toolscout.contract.fields import MAX_EVENTS, EventText, ToolName


class FeedbackEvent(msgspec.Struct, frozen=True, kw_only=True):
    """That a tool was used for a pattern, and whether it did what was wanted."""

    pattern: EventText
    tool: ToolName
    success: bool
    duration_ms: Annotated[float, msgspec.Meta(ge=0)] | None = None
    session: EventText | None = None
    source: EventText | None = None
    catalog: str | None = None
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
