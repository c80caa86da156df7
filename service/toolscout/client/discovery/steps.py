"""The steps of a turn that forwarding and asking have in common, blocking or not."""

import logging
from collections.abc import Generator, Sequence
from typing import Any

from toolscout.client.discovery.config import DiscoveryConfig
from toolscout.client.discovery.turn import Turn
from toolscout.client.providers import Call, Json
from toolscout.client.providers.stream import Stream
from toolscout.client.selector.selection import Selection
from toolscout.client.selector.typed import body_of, in_type_of

Searches = tuple[Turn, list[Call]]
Steps = Generator[Json | Searches, Any, Any]

END_OF_EVENT = b"\n\n"
"""Fed after a stream, for those that end without it."""

logger = logging.getLogger("toolscout.client")


def conversation(begun: Turn | Json) -> Steps:
    """Yield requests to forward and searches to make; return the response for the client.

    Is sent responses, or the exception that forwarding ended in. The response for the client has
    the type of those that were sent.

    Raises:
        InvalidArgument: a response is no body that could be looked into for searches.
    """
    if not isinstance(begun, Turn):
        return _result((yield begun))
    try:
        return (yield from _turn(begun))
    finally:
        begun.end()


def _turn(begun: Turn) -> Steps:
    given = _result((yield begun.request))
    response = body_of(given)
    while calls := begun.searches(response):
        found = yield (begun, calls)
        resumed = begun.resume(response, found)
        if resumed is None:
            break
        given = yield resumed
        if isinstance(given, Exception):
            # What was added to the request may be why; the client is owed what it asked for.
            logger.warning("forwarding failed after a search; the request goes out as it came")
            given = _result((yield begun.original))
            return in_type_of(given, begun.with_usage(body_of(given)))
        response = body_of(given)
    return in_type_of(given, begun.finish(response))


def next_body(turn: Turn, stream: Stream, found: list[tuple[Call, Selection]]) -> Json | None:
    """What to forward after a turn of the model; None when the client's turn is over."""
    body = turn.resume(stream.response(), found) if found else None
    if body is None:
        turn.end()
    else:
        stream.next_turn()
    return body


def starts_over(turn: Turn, stream: Stream, body: Json) -> bool:
    """Whether a forward that failed after a search is tried as the request came."""
    if stream.wrote or turn.rounds == 0 or body is turn.original:
        return False
    stream.next_turn()
    turn.end_searching()
    logger.warning("forwarding failed after a search; the request goes out as it came")
    return True


def _result(answer: Any) -> Any:
    """Return what a forward returned, or raise what it raised."""
    if isinstance(answer, Exception):
        raise answer
    return answer


def question(
    call: Call, turn: Turn, config: DiscoveryConfig
) -> tuple[str, Sequence[Any], int, Sequence[str]]:
    """What a search call asks of a selector."""
    return call.query, turn.offer.everything, config.max_search_results, config.always_keep


def marks(turn: Turn) -> dict[str, Any]:
    """Whose question it is, and which of its turn."""
    return {"session": turn.session, "loop": turn.rounds + 1}
