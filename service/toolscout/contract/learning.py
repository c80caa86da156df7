"""Feedback and the learning from it."""

from typing import Annotated

import msgspec

from toolscout.contract.bounds import MAX_CHAIN, MAX_EVENTS
from toolscout.contract.fields import MAX_DURATION_MS, EventText, ToolName, Turn


class FeedbackEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A report that a tool was called for a pattern, and whether the call succeeded.

    Equal reports of one turn (its tool and success) count once.
    """

    pattern: EventText | None = None
    """Needed unless `turn` names a search."""
    tool: ToolName
    success: bool
    turn: Turn | None = None
    duration_ms: Annotated[float, msgspec.Meta(ge=0, le=MAX_DURATION_MS)] | None = None
    session: EventText | None = None
    source: EventText | None = None
    catalog: Annotated[str, msgspec.Meta(max_length=64)] | None = None
    """Digest of the list that contained the tool; default: the latest with a tool of that name."""


class FeedbackBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Several events at once."""

    events: Annotated[tuple[FeedbackEvent, ...], msgspec.Meta(min_length=1, max_length=MAX_EVENTS)]


class FeedbackAnswer(msgspec.Struct, frozen=True):
    """The number of events that counted; repeated reports and unknown turns do not."""

    accepted: int


class LearnedTool(msgspec.Struct, frozen=True, omit_defaults=True):
    """What feedback says of one tool."""

    name: str
    successes: int
    failures: int
    success_rate: float
    patterns: int
    """Stored typical patterns."""
    typical_duration_ms: float | None = None
    content: str | None = None
    """Digest of the tool's content, if known."""


class LearningAnswer(msgspec.Struct, frozen=True):
    """Summary of one tenant's feedback, the most used tools first."""

    observations: int
    tools: list[LearnedTool]


class ChainReport(msgspec.Struct, frozen=True, kw_only=True):
    """Tools that were called in sequence for an intent, and whether that succeeded.

    Equal reports of one turn (its chain and success) count once.
    """

    intent: EventText
    chain: Annotated[tuple[ToolName, ...], msgspec.Meta(min_length=2, max_length=MAX_CHAIN)]
    success: bool
    turn: Turn | None = None


class InsightAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The chain that fits a pattern, empty if none is known; confidence is 0 to 1."""

    chain: list[str]
    confidence: float
    evidence: int
    """How often the chain was reported."""
    recommendation: str = ""
    """The same in a sentence."""
