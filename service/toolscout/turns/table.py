"""The table of a turn: what becomes of each event in each phase.

A row says what handles an event, and every outcome that it may have: the phase after it, and the
effect that the driver performs. An event without a row cannot be, and a turn refuses it. The page
of this room shows the table.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

from toolscout.turns.answering import (
    end_unsearched,
    pass_piece,
    pass_restored,
    read_answer,
    read_end,
    read_first_piece,
    read_piece,
    resume,
    stop_reading,
)
from toolscout.turns.asking import begin, show_first_finds
from toolscout.turns.events import (
    Answer,
    AnswerEnd,
    Effect,
    End,
    Event,
    Fail,
    Failure,
    Forward,
    Overflow,
    Pass,
    PassPiece,
    Piece,
    Release,
    Report,
    Request,
    Search,
    Searched,
    Sent,
)
from toolscout.turns.falling_back import fail, note_sent, try_again, try_without_tools
from toolscout.turns.keeping import end, stay_ended
from toolscout.turns.state import Phase, Step, TurnState

EventT = TypeVar("EventT", bound=Event)

Handler = Callable[[TurnState, Event], Step]

Outcome = tuple[Phase, type[Effect] | None]
"""The phase after an event, and the effect; None where the driver goes on by itself."""


class TableRow(NamedTuple):
    """What becomes of one event in one phase."""

    phase: Phase
    event: type[Event]
    handle: Handler
    outcomes: tuple[Outcome, ...]


def _make_row(
    phase: Phase,
    event: type[EventT],
    handle: Callable[[TurnState, EventT], Step],
    *outcomes: Outcome,
) -> TableRow:
    # A row is looked up by the type of the event, so its handler gets no other.
    return TableRow(phase, event, cast("Handler", handle), outcomes)


_FAILED = (Phase.DONE, Fail)
_READ = (Phase.STREAMING, PassPiece)
_REPORTED = (Phase.ENDED, Report)

ROWS = (
    _make_row(
        Phase.NEW,
        Request,
        begin,
        (Phase.ASKING, Search),
        (Phase.FORWARDING, Report),
        (Phase.DONE, Release),
    ),
    _make_row(
        Phase.ASKING,
        Searched,
        show_first_finds,
        (Phase.FORWARDING, Report),
        (Phase.DONE, Release),
    ),
    _make_row(Phase.FORWARDING, Sent, note_sent, (Phase.FORWARDING, None)),
    _make_row(
        Phase.FORWARDING,
        Answer,
        read_answer,
        (Phase.SEARCHING, Search),
        (Phase.DONE, Pass),
    ),
    _make_row(Phase.FORWARDING, Piece, read_first_piece, _READ),
    _make_row(
        Phase.FORWARDING,
        Failure,
        try_again,
        (Phase.FORWARDING, Forward),
        (Phase.RESTORING, Forward),
        _FAILED,
    ),
    _make_row(Phase.STREAMING, Piece, read_piece, _READ),
    _make_row(Phase.STREAMING, Overflow, stop_reading, (Phase.PASSING, PassPiece), _FAILED),
    _make_row(
        Phase.STREAMING,
        AnswerEnd,
        read_end,
        (Phase.SEARCHING, Search),
        (Phase.DONE, PassPiece),
    ),
    _make_row(Phase.STREAMING, Failure, fail, _FAILED),
    _make_row(
        Phase.SEARCHING,
        Searched,
        resume,
        (Phase.FORWARDING, Forward),
        (Phase.DONE, Pass),
        (Phase.DONE, PassPiece),
    ),
    _make_row(Phase.SEARCHING, AnswerEnd, end_unsearched, (Phase.DONE, PassPiece)),
    _make_row(Phase.SEARCHING, Failure, fail, _FAILED),
    _make_row(Phase.RESTORING, Answer, pass_restored, (Phase.DONE, Pass)),
    _make_row(Phase.RESTORING, Piece, read_first_piece, _READ),
    _make_row(Phase.RESTORING, Failure, try_without_tools, (Phase.RESTORING, Forward), _FAILED),
    _make_row(Phase.PASSING, Piece, pass_piece, (Phase.PASSING, PassPiece)),
    _make_row(Phase.PASSING, Failure, fail, _FAILED),
    _make_row(Phase.DONE, Failure, fail, _FAILED),
    *(_make_row(phase, End, end, _REPORTED) for phase in Phase if phase is not Phase.ENDED),
    _make_row(Phase.ENDED, End, stay_ended, (Phase.ENDED, None)),
)

TABLE = {(row.phase, row.event): row for row in ROWS}
