"""A turn takes the events of its table and no other, and it opens no connection."""

import socket
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from tests.turns.flows import PHANTOM, RefusedError
from tests.turns.shapes import ABOUT, BY_NAME, Json, Said, tools_of
from tests.turns.streaming import openai_events
from toolscout.client.offer import Offer
from toolscout.client.selection import Selection
from toolscout.turns.config import DiscoveryConfig
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
from toolscout.turns.left_out import Upstream
from toolscout.turns.opening import TurnSettings
from toolscout.turns.providers import Call
from toolscout.turns.session import SessionStore
from toolscout.turns.state import Phase
from toolscout.turns.table import ROWS, TABLE, Outcome
from toolscout.turns.turn import LocalProtocolError, Turn

SHAPE = BY_NAME["openai"]
TOOLS = tools_of(SHAPE)
SEARCH_CALL = ("call_1", PHANTOM, {"query": "send an email"})
OWN_CALL = ("call_2", "read_file", {"path": "a"})

DONE = SHAPE.response(Said("All done."))
SEARCHING = SHAPE.response(Said("", (SEARCH_CALL,)))
MIXED = SHAPE.response(Said("", (SEARCH_CALL, OWN_CALL)))

PIECES = {
    "done": b"".join(openai_events(Said("All done."))),
    "searching": b"".join(openai_events(Said("", (SEARCH_CALL,)))),
    "mixed": b"".join(openai_events(Said("", (SEARCH_CALL, OWN_CALL)))),
}

FOUND = Searched([(Call(*SEARCH_CALL), Selection(["send_email"], []))])
REFUSED = Failure(RefusedError("no"))
LOST = Failure(TimeoutError("too late"))


class NamedError(Exception):
    """A refusal of one tool by its name."""

    status_code = 400
    body: ClassVar[Json] = {
        "error": {"message": "Invalid schema", "param": "tools[1].function.parameters"}
    }


class NativeRefusedError(Exception):
    """A refusal of deferred loading."""

    status_code = 400
    body: ClassVar[Json] = {"error": {"message": "defer_loading is not supported"}}


EVENTS: dict[type[Event], Event] = {
    Request: Request(),
    Searched: FOUND,
    Sent: Sent(SHAPE.request("send an email", TOOLS)),
    Answer: Answer(DONE),
    Piece: Piece(b""),
    Overflow: Overflow(),
    AnswerEnd: AnswerEnd(),
    Failure: LOST,
    End: End(),
}
"""One event of each type."""


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test open a connection."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a turn has opened a connection")

    monkeypatch.setattr(socket, "socket", refuse)


def settings_of(config: DiscoveryConfig) -> TurnSettings:
    return TurnSettings(config, SessionStore(), 5, native=True, remember_tools=True)


def new(*, asks: bool = False, answers: int = 1) -> Turn:
    """Return a turn with six tools, one of them in sight."""
    strategy = "hybrid-first" if asks else "api"
    config = DiscoveryConfig(enabled=True, strategy=strategy, dispatch="off")
    settings = settings_of(config.with_arguments(["read_file"], 5))
    request = SHAPE.request("send an email", TOOLS, n=answers)
    return Turn(request, Offer(TOOLS), settings, Upstream("openai", "m", session="s"))


def known_to_find_nothing(answers: int) -> Turn:
    """Return a turn of a conversation whose first message is known to need no tool."""
    turn = new(answers=answers)
    incoming = turn.state.incoming
    incoming.settings.store.mark_visible("s", incoming.catalog, [])
    return turn


def told(turn: Turn, *events: Event) -> Turn:
    for event in events:
        turn.handle(event)
    return turn


REACHED: dict[Phase, Callable[[], Turn]] = {
    Phase.NEW: new,
    Phase.ASKING: lambda: told(new(asks=True), Request()),
    Phase.FORWARDING: lambda: told(new(), Request()),
    Phase.STREAMING: lambda: told(new(), Request(), Piece(PIECES["done"])),
    Phase.SEARCHING: lambda: told(new(), Request(), Answer(SEARCHING)),
    Phase.RESTORING: lambda: told(new(), Request(), Answer(SEARCHING), FOUND, REFUSED),
    Phase.PASSING: lambda: told(new(), Request(), Piece(PIECES["done"]), Overflow()),
    Phase.DONE: lambda: told(new(), Request(), Answer(DONE)),
    Phase.ENDED: lambda: told(new(), Request(), Answer(DONE), End()),
}
"""A turn in each phase."""


def streamed(name: str, *events: Event) -> Turn:
    """Return a turn that reads a stream, and then is told of events."""
    return told(new(), Request(), Piece(PIECES[name]), Piece(b"\n\n"), *events)


def restored_stream() -> Turn:
    """Return a turn whose stream waits for the answer to the request as it came."""
    return streamed("searching", AnswerEnd(), FOUND, REFUSED)


CASES: list[tuple[Callable[[], Turn], Event, Outcome]] = [
    (lambda: new(asks=True), Request(), (Phase.ASKING, Search)),
    (new, Request(), (Phase.FORWARDING, Report)),
    (lambda: new(answers=2), Request(), (Phase.ASKING, Search)),
    (lambda: known_to_find_nothing(answers=2), Request(), (Phase.DONE, Release)),
    (REACHED[Phase.ASKING], FOUND, (Phase.FORWARDING, Report)),
    (lambda: told(new(answers=2), Request()), FOUND, (Phase.DONE, Release)),
    (REACHED[Phase.FORWARDING], EVENTS[Sent], (Phase.FORWARDING, None)),
    (REACHED[Phase.FORWARDING], Answer(SEARCHING), (Phase.SEARCHING, Search)),
    (REACHED[Phase.FORWARDING], Answer(DONE), (Phase.DONE, Pass)),
    (REACHED[Phase.FORWARDING], Piece(b"data"), (Phase.STREAMING, PassPiece)),
    (REACHED[Phase.FORWARDING], Failure(NamedError()), (Phase.FORWARDING, Forward)),
    (REACHED[Phase.FORWARDING], LOST, (Phase.DONE, Fail)),
    (REACHED[Phase.FORWARDING], REFUSED, (Phase.DONE, Fail)),
    (
        lambda: told(new(), Request(), Answer(SEARCHING), FOUND),
        REFUSED,
        (Phase.RESTORING, Forward),
    ),
    (lambda: told(new(), Request(), Answer(SEARCHING), FOUND), LOST, (Phase.DONE, Fail)),
    (REACHED[Phase.STREAMING], Piece(b""), (Phase.STREAMING, PassPiece)),
    (REACHED[Phase.STREAMING], Overflow(), (Phase.PASSING, PassPiece)),
    (lambda: streamed("searching"), Overflow(), (Phase.DONE, Fail)),
    (lambda: streamed("searching"), AnswerEnd(), (Phase.SEARCHING, Search)),
    (lambda: streamed("searching"), AnswerEnd(is_searched=False), (Phase.DONE, PassPiece)),
    (lambda: streamed("done"), AnswerEnd(), (Phase.DONE, PassPiece)),
    (REACHED[Phase.STREAMING], REFUSED, (Phase.DONE, Fail)),
    (REACHED[Phase.SEARCHING], FOUND, (Phase.FORWARDING, Forward)),
    (lambda: told(new(), Request(), Answer(MIXED)), FOUND, (Phase.DONE, Pass)),
    (lambda: streamed("mixed", AnswerEnd()), FOUND, (Phase.DONE, PassPiece)),
    (
        lambda: streamed("searching", AnswerEnd()),
        AnswerEnd(is_searched=False),
        (Phase.DONE, PassPiece),
    ),
    (REACHED[Phase.SEARCHING], LOST, (Phase.DONE, Fail)),
    (REACHED[Phase.RESTORING], Answer(DONE), (Phase.DONE, Pass)),
    (REACHED[Phase.RESTORING], Failure(NamedError()), (Phase.DONE, Fail)),
    (restored_stream, Piece(b""), (Phase.STREAMING, PassPiece)),
    (restored_stream, Failure(NamedError(), streams=True), (Phase.RESTORING, Forward)),
    (restored_stream, Failure(RefusedError("no"), streams=True), (Phase.DONE, Fail)),
    (REACHED[Phase.PASSING], Piece(b"data"), (Phase.PASSING, PassPiece)),
    (REACHED[Phase.PASSING], LOST, (Phase.DONE, Fail)),
    (REACHED[Phase.DONE], LOST, (Phase.DONE, Fail)),
    *((reached, End(), (Phase.ENDED, Report)) for reached in [*REACHED.values()][:-1]),
    (REACHED[Phase.ENDED], End(), (Phase.ENDED, None)),
]
"""How a turn is reached, what it is told of, and the outcome."""


def outcome_of(turn: Turn, effect: Effect | None) -> Outcome:
    return turn.state.phase, None if effect is None else type(effect)


@pytest.mark.parametrize("phase", REACHED)
def test_every_phase_can_be_reached(phase: Phase):
    assert REACHED[phase]().state.phase is phase


@pytest.mark.parametrize(
    ("reach", "event", "outcome"),
    CASES,
    ids=[f"{event}-{outcome[0].value}".partition("(")[0] for _, event, outcome in CASES],
)
def test_an_event_has_an_outcome_of_its_row(
    reach: Callable[[], Turn], event: Event, outcome: Outcome
):
    turn = reach()
    row = TABLE[turn.state.phase, type(event)]
    assert outcome_of(turn, turn.handle(event)) == outcome
    assert outcome in row.outcomes


def test_the_cases_are_all_outcomes_of_the_table():
    exercised = {(reach().state.phase, type(event), outcome) for reach, event, outcome in CASES}
    assert exercised == {(row.phase, row.event, one) for row in ROWS for one in row.outcomes}


UNTAKEN = [(phase, event) for phase in Phase for event in EVENTS if (phase, event) not in TABLE]


@pytest.mark.parametrize(("phase", "event"), UNTAKEN, ids=str)
def test_a_turn_refuses_every_other_event(phase: Phase, event: type[Event]):
    turn = REACHED[phase]()
    with pytest.raises(LocalProtocolError, match=f"{phase.value} takes no {event.__name__}"):
        turn.handle(EVENTS[event])
    assert turn.state.phase is phase


def test_a_table_has_one_row_for_an_event_in_a_phase():
    assert len(TABLE) == len(ROWS)


def test_a_whole_turn_is_a_list_of_events():
    turn = new(asks=True)
    first = turn.handle(Request())
    assert isinstance(first, Search)
    assert [call.query for call in first.calls] == ["send an email"]
    turn.handle(Searched([(first.calls[0], Selection(["send_email"], []))]))
    assert SHAPE.names(turn.request) == [PHANTOM, "read_file", "send_email"]
    searched = turn.handle(Answer(SEARCHING))
    assert isinstance(searched, Search)
    again = turn.handle(Searched([(searched.calls[0], Selection(["run_tests"], []))]))
    assert isinstance(again, Forward)
    assert SHAPE.names(again.request)[-1] == "run_tests"
    final = turn.handle(Answer(DONE))
    assert isinstance(final, Pass)
    assert final.response == DONE
    assert turn.handle(End()) == Report("finished")
    assert turn.handle(End()) is None


def test_an_opening_is_made_anew_without_a_refused_tool():
    turn = told(new(asks=True), Request())
    turn.handle(Searched([(Call("", "", {}), Selection(["send_email"], []))]))
    before = turn.state.opening
    effect = turn.handle(Failure(NamedError()))  # of what stands first behind the search tool
    assert isinstance(effect, Forward)
    assert SHAPE.names(effect.request) == [PHANTOM, "send_email"]
    assert turn.state.opening is not before
    assert before.offer.names == tuple(tool["function"]["name"] for tool in TOOLS)


def test_an_opening_in_another_form_declares_what_was_loaded_in_the_first():
    """Nothing is left of the native form, in which the same tool came by a search."""
    shape = BY_NAME["anthropic"]
    tools = tools_of(shape)
    config = DiscoveryConfig(enabled=True, strategy="api", dispatch="on")
    settings = settings_of(config)
    settings.store.mark_expanded("s", ["run_tests"])
    request = shape.request("send an email", tools)
    request = shape.history(request, Said("Which?"), [], "this one")
    request["model"] = "claude-opus-5"
    upstream = Upstream("anthropic", "claude-opus-5", session="s")
    turn = told(Turn(request, Offer(tools), settings, upstream), Request())
    assert set(ABOUT) < set(shape.names(turn.request))  # all of them deferred
    error = NativeRefusedError("no")
    effect = turn.handle(Failure(error))
    assert isinstance(effect, Forward)
    assert shape.names(effect.request) == [PHANTOM, "call_tool", "run_tests"]


def test_what_a_request_needs_keeps_its_room_when_it_is_opened_again():
    about = {f"tool_{number}": f"Does the thing of number {number}" for number in range(200)}
    tools = tools_of(SHAPE, about)
    config = DiscoveryConfig(enabled=True, strategy="hybrid-first", dispatch="off")
    request = SHAPE.request("send an email", tools, **SHAPE.forcing("tool_199"))
    upstream = Upstream("openai", "m", session="s")
    turn = told(Turn(request, Offer(tools), settings_of(config), upstream), Request())
    turn.handle(Searched([(Call("", "", {}), Selection([*about], []))]))
    assert "tool_199" in SHAPE.names(turn.request)
    effect = turn.handle(Failure(NamedError()))
    assert isinstance(effect, Forward)
    assert "tool_199" in SHAPE.names(effect.request)
