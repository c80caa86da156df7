"""The requests of a turn, as they go to the provider."""

from collections.abc import Sequence
from typing import Any

from toolscout.client.selection import Selection
from toolscout.tools.shapes import read_texts
from toolscout.turns.providers import Call, Json
from toolscout.turns.providers.provider import SearchResult
from toolscout.turns.shown import write_result
from toolscout.turns.state import TurnState


def write_current(turn: TurnState) -> Json:
    """Return the request to forward; the first is written when it is asked for."""
    if turn.request is None:
        turn.request = _write_first(turn)
    return turn.request


def _write_first(turn: TurnState) -> Json:
    """Write the first request, with what fits the user's message and what it has to load."""
    opening = turn.opening
    turn.words = ""
    turn.shown.set_known(opening.to_declare)
    there = {*opening.loaded, *opening.to_declare}
    fitting = [name for name in turn.fitting if name not in there]
    tools = turn.shown.load([*opening.to_load, *fitting])
    request = declare_tools(turn, opening.resumed)
    can_load = turn.is_native or opening.dispatch.is_active
    if not tools or not can_load:
        return request
    if turn.is_native or can_make_up_call(turn):
        return _add_search(turn, request, tools)
    turn.words = opening.dispatch.word_finds(tools)
    return turn.provider.add_last_words(request, turn.words)


def can_make_up_call(turn: TurnState) -> bool:
    """Return whether the model takes a search that was made for it."""
    takes = turn.settings.takes("made_up", turn.incoming.upstream)
    return takes and turn.provider.can_take_made_up_call(turn.asked)


def _add_search(turn: TurnState, request: Json, tools: Sequence[Any]) -> Json:
    """Add a search that found these, as if the model had made it: what is before it stays."""
    provider = turn.provider
    names = [read_texts(tool)[0] for tool in tools]
    length = len(provider.history(request))
    id_ = provider.loading_id.format(length)
    call = Call(id_, turn.search_name, {"query": names[0]})
    found: Selection[Any] = Selection(names, [])
    text = write_result(found, names, len(names), turn.offer)
    result = SearchResult(call, text, tools)
    response = provider.make_search(call)
    return turn.tool_use.continue_request(request, response, [result])


def declare_tools(turn: TurnState, request: Json) -> Json:
    """Return a request with the tools that the model sees now."""
    if turn.is_whole:
        # No more searches are answered, nor calls judged.
        turn.opening.dispatch.searched_as = ""
        return _add_every_tool(turn, request)
    tools = turn.shown.tools()
    return turn.tool_use.offer_tools(request, turn.opening.search_tool, tools)


def _add_every_tool(turn: TurnState, request: Json) -> Json:
    offer = turn.offer
    tools = offer.everything
    names = turn.shown.every(turn.user_query)
    if len(names) < len(offer.names):
        tools = offer.pick(names)
    elif request is turn.asked and len(offer) == len(tools):
        return request
    return turn.provider.with_tools(request, tools)


def write_original(turn: TurnState) -> Json:
    """Return the request as it came, with every tool up to the provider's maximum."""
    return _add_every_tool(turn, turn.asked)


def write_unsearched(turn: TurnState) -> Json:
    """Return the request without a search tool, for a model that cannot search."""
    turn.shown.set_known(turn.opening.known)
    tools = turn.shown.tools()
    declared = [*tools.visible, *tools.known]
    if not declared:
        return write_original(turn)
    return turn.provider.with_tools(turn.asked, declared)


def start_over(turn: TurnState) -> Json:
    """End searching, and return the request as it came."""
    turn.is_restored = True
    turn.rounds = turn.settings.max_rounds
    turn.opening.history.forget()
    return write_original(turn)
