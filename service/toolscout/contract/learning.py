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
    """The pattern that was searched for; not needed with the `turn` of a search."""
    tool: ToolName
    """The tool that was called."""
    success: bool
    """Whether the call did what the user wanted."""
    turn: Turn | None = None
    """The `turn` of the search; equal reports of a turn count once."""
    duration_ms: Annotated[float, msgspec.Meta(ge=0, le=MAX_DURATION_MS)] | None = None
    """How long the call took."""
    session: EventText | None = None
    """The caller's identifier of the conversation or person; only its digest is stored, for
    deletion."""
    source: EventText | None = None
    """The reporter of the event; only its digest is stored, for deletion."""
    catalog: Annotated[str, msgspec.Meta(max_length=64)] | None = None
    """Digest of the list that contained the tool; default: the latest list with a tool of that
    name."""


class FeedbackBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Several events at once."""

    events: Annotated[tuple[FeedbackEvent, ...], msgspec.Meta(min_length=1, max_length=MAX_EVENTS)]
    """Up to 1,000."""


class FeedbackAnswer(msgspec.Struct, frozen=True):
    """The number of events that counted; repeated reports and unknown turns do not."""

    accepted: int
    """Number of events stored."""


class LearnedTool(msgspec.Struct, frozen=True, omit_defaults=True):
    """What feedback says of one tool."""

    name: str
    """The tool's name."""
    successes: int
    """Calls that worked."""
    failures: int
    """Calls that failed."""
    success_rate: float
    """Share of successful calls, 0 to 1."""
    patterns: int
    """Stored typical patterns."""
    typical_duration_ms: float | None = None
    """A running mean of successful calls."""
    content: str | None = None
    """Digest of the tool's content, if known."""


class LearningAnswer(msgspec.Struct, frozen=True):
    """Summary of one tenant's feedback, the most used tools first."""

    observations: int
    """Number of reported calls."""
    tools: list[LearnedTool]
    """The 1,000 that were used most, the most used first."""


class ChainReport(msgspec.Struct, frozen=True, kw_only=True):
    """Tools that were called in sequence for an intent, and whether that succeeded.

    Equal reports of one turn (its chain and success) count once.
    """

    intent: EventText
    """The task, in words."""
    chain: Annotated[tuple[ToolName, ...], msgspec.Meta(min_length=2, max_length=MAX_CHAIN)]
    """Names in the order they were used."""
    success: bool
    """Whether the call did what the user wanted."""
    turn: Turn | None = None
    """The caller's identifier of a turn; equal reports of a turn count once."""
    session: EventText | None = None
    """As of an event."""
    source: EventText | None = None
    """As of an event."""


class InsightAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The chain that fits a pattern, empty if none is known; confidence is 0 to 1."""

    chain: list[str]
    """Empty if none is known."""
    confidence: float
    """0 to 1."""
    evidence: int
    """How often the chain was reported."""
    recommendation: str = ""
    """The same in a sentence; absent without a chain."""
