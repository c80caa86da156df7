"""What a turn is told, and what it asks for: its whole interface, as values.

    effect = turn.handle(event)        the driver performs the effect, and tells of what came of it

A turn neither forwards nor searches; `drivers/` do.
"""

from collections.abc import Sequence

import msgspec

from toolscout.client.events import Stage
from toolscout.turns.providers import Call, Json
from toolscout.turns.shown import Found


class Event(msgspec.Struct, frozen=True):
    """Base of what a turn is told."""


class Request(Event, frozen=True):
    """A request of a caller is there, and its answer can be waited for."""


class Searched(Event, frozen=True):
    """Searches were answered."""

    found: Sequence[Found]
    """The searches in their order, each with its result."""


class Sent(Event, frozen=True):
    """Somebody else has forwarded the request, with other fields than it was prepared with."""

    fields: Json


class Answer(Event, frozen=True):
    """The provider has answered with a whole response."""

    response: Json


class Piece(Event, frozen=True):
    """The provider has sent a piece of a stream; pieces end anywhere."""

    data: bytes


class Overflow(Event, frozen=True):
    """A stream is too large to be read any further."""


class AnswerEnd(Event, frozen=True):
    """A stream has ended."""

    is_searched: bool = True
    """Whether its searches can be answered; else the caller gets what there is."""


class Failure(Event, frozen=True):
    """A forward has failed: the provider refused it, or could not be reached."""

    error: Exception
    can_retry: bool = True
    """Whether the driver can forward another request."""
    streams: bool = False
    """Whether the answer would have been a stream."""


class End(Event, frozen=True):
    """The caller has its answer, or has gone."""


class Forward(msgspec.Struct, frozen=True):
    """Forward a request, and tell the turn of the answer or of the failure."""

    request: Json


class Release(msgspec.Struct, frozen=True):
    """Forward a request once; its answer is the caller's as it comes."""

    request: Json


class Search(msgspec.Struct, frozen=True):
    """Search for tools, and tell the turn of what was found."""

    calls: Sequence[Call]
    round: int
    """0 before the first forward."""


class Pass(msgspec.Struct, frozen=True):
    """Give the caller a whole response."""

    response: Json


class PassPiece(msgspec.Struct, frozen=True):
    """Give the caller a piece of a stream; it may be empty."""

    data: bytes


class Fail(msgspec.Struct, frozen=True):
    """Raise the error, or one for an answer that is too large: it is the caller's."""


class Report(msgspec.Struct, frozen=True):
    """Tell the observers of a turn."""

    stage: Stage


Effect = Forward | Release | Search | Pass | PassPiece | Fail | Report
