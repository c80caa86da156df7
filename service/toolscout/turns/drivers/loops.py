"""The two loops that perform what a turn asks for: around whole answers, and around streams.

Each is written once, as a coroutine or an asynchronous generator; in blocking code it never waits.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import TypeVar, cast

from toolscout.client.log import logger
from toolscout.turns.drivers.exchange import (
    END_OF_EVENT,
    TOO_LARGE,
    ProviderError,
    make_gateway_error,
)
from toolscout.turns.drivers.pieces import close
from toolscout.turns.drivers.written import MAX_SEARCHED_BYTES
from toolscout.turns.events import (
    Answer,
    AnswerEnd,
    Effect,
    End,
    Fail,
    Failure,
    Forward,
    Overflow,
    Pass,
    PassPiece,
    Piece,
    Report,
    Search,
    Searched,
)
from toolscout.turns.lessons.observing import TurnObservers
from toolscout.turns.providers import Json
from toolscout.turns.providers.fields import body_of, in_type_of
from toolscout.turns.shown import Found
from toolscout.turns.state import Phase
from toolscout.turns.turn import LocalProtocolError, Turn

Body = TypeVar("Body")
"""What a forward returns: a response body as a dict, or the SDK's own object."""

AsyncForward = Callable[[Json], Awaitable[Body]]
AsyncOpen = Callable[[Json], AsyncIterator[bytes]]
AsyncSearch = Callable[[Turn, Search], Awaitable[list[Found]]]


async def complete(
    turn: Turn,
    effect: Effect | None,
    forward: AsyncForward[Body],
    search: AsyncSearch,
    answer: Body | None = None,
) -> Body:
    """Perform effects until a response is for the client; return it in its original type.

    Args:
        turn: whose effects these are.
        effect: the first one.
        forward: sends a request to the provider.
        search: answers searches of the model.
        answer: what the provider has answered, if that came before the first effect.
    """
    while True:
        match effect:
            case Forward(request):
                try:
                    answer = await forward(request)
                except Exception as error:
                    effect = turn.handle(Failure(error))
                    if isinstance(effect, Fail):
                        raise
                else:
                    effect = turn.handle(Answer(body_of(answer)))
            case Search():
                effect = turn.handle(Searched(await search(turn, effect)))
            case Pass(response):
                return cast("Body", in_type_of(answer, response))
            case _:
                raise LocalProtocolError(f"nothing performs {effect} around whole answers")


async def answer_to(turn: Turn, forward: AsyncForward[Body]) -> Body:
    """Forward the request of a turn, and plainer ones while it is refused."""
    request = turn.request
    while True:
        try:
            return await forward(request)
        except Exception as error:
            effect = turn.handle(Failure(error))
            if not isinstance(effect, Forward):
                raise
            request = effect.request


async def stream(
    turn: Turn,
    opened: AsyncIterator[bytes],
    forward: AsyncOpen,
    search: AsyncSearch,
    observers: TurnObservers,
) -> AsyncGenerator[bytes, None]:
    """Perform effects around streams, and yield what is for the client; end the turn."""
    try:
        while True:
            effect: Effect | None = None
            try:
                async for effect in _read(turn, opened, search):
                    if isinstance(effect, PassPiece) and effect.data:
                        yield effect.data
            except Exception as error:
                effect = turn.handle(Failure(error, streams=True))
                if isinstance(effect, Fail):
                    raise
            if not isinstance(effect, Forward):
                break
            opened = forward(effect.request)
    except ProviderError as error:  # the client has the status of the first answer
        yield turn.write_error(error.status_code, error.error)
    finally:
        end_turn(turn, observers)
        await close(opened)


async def _read(
    turn: Turn, opened: AsyncIterator[bytes], search: AsyncSearch
) -> AsyncGenerator[Effect | None, None]:
    """Yield the effects of each piece of an answer, and of its end, searches answered.

    Raises:
        ProviderError: the answer is too large to be read, and belongs to a search.
    """
    size = 0
    async for piece in opened:
        size += len(piece)
        yield turn.handle(Piece(piece))
        if size > MAX_SEARCHED_BYTES and turn.state.phase is not Phase.PASSING:
            effect = turn.handle(Overflow())
            if isinstance(effect, Fail):
                raise ProviderError(make_gateway_error(TOO_LARGE))
            yield effect
    if turn.state.phase is Phase.PASSING:
        return
    yield turn.handle(Piece(END_OF_EVENT))
    try:
        effect = turn.handle(AnswerEnd())
        if isinstance(effect, Search):
            effect = turn.handle(Searched(await search(turn, effect)))
    except Exception:  # the client has the answer, which was paid for
        logger.exception("the end of a stream could not be read; it is not searched")
        effect = turn.handle(AnswerEnd(is_searched=False))
    yield effect


def end_turn(turn: Turn, observers: TurnObservers) -> None:
    """End a turn, and tell the observers of it."""
    perform_report(turn, turn.handle(End()), observers)


def perform_report(turn: Turn, effect: Effect | None, observers: TurnObservers) -> None:
    """Tell the observers of a turn, if that is to be done."""
    if isinstance(effect, Report) and not turn.state.is_plain:
        observers.tell_of(effect.stage, turn.state)
