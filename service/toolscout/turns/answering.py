"""What a turn makes of the model's answers, whole or in pieces, and of the searches in them.

Calls of the search tool never reach the caller: they are answered, and the model is asked again,
until a response has none. In the fifth round the model is told that it was the last search, and
after one more it may call nothing. Where the service gave no answer, it has every tool then.
"""

from collections.abc import Sequence
from typing import Any

from toolscout.client.selection import Reason, Selection
from toolscout.turns.dispatch import find_refusal
from toolscout.turns.events import (
    Answer,
    AnswerEnd,
    Fail,
    Forward,
    Overflow,
    Pass,
    PassPiece,
    Piece,
    Search,
    Searched,
)
from toolscout.turns.keeping import accept, refuse_form
from toolscout.turns.providers import Call, Json
from toolscout.turns.providers.calls import change_calls
from toolscout.turns.providers.fields import add
from toolscout.turns.providers.native import Native
from toolscout.turns.providers.provider import SearchResult
from toolscout.turns.providers.stream import Stream
from toolscout.turns.shown import ASKED_BEFORE, NO_MORE, Found, write_result
from toolscout.turns.state import Phase, SearchMade, Step, TurnState
from toolscout.turns.writing import declare_tools, write_current


def read_answer(turn: TurnState, event: Answer) -> Step:
    """Answer the searches of a response, or give it to the caller without a trace of them."""
    if calls := _take_response(turn, event.response):
        return _search(turn, event.response, calls)
    return Step(Phase.DONE, Pass(_finish(turn, event.response)))


def pass_restored(turn: TurnState, event: Answer) -> Step:
    """Give the caller the response to the request as it came."""
    return Step(Phase.DONE, Pass(_give(turn, event.response)))


def read_first_piece(turn: TurnState, event: Piece) -> Step:
    """Give the caller what is no search: the provider takes the request."""
    step = read_piece(turn, event)
    accept(turn)
    return step


def read_piece(turn: TurnState, event: Piece) -> Step:
    """Give the caller what is no search."""
    out = open_stream(turn).feed(event.data)
    return Step(Phase.STREAMING, PassPiece(out))


def read_end(turn: TurnState, event: AnswerEnd) -> Step:
    """Answer the searches of a stream, or end it."""
    if event.is_searched:
        response = open_stream(turn).response()
        if calls := _take_response(turn, response):
            return _search(turn, response, calls)
    return end_unsearched(turn, event)


def end_unsearched(turn: TurnState, _: AnswerEnd) -> Step:
    """End a stream whose searches could not be answered."""
    return Step(Phase.DONE, PassPiece(open_stream(turn).finish()))


def stop_reading(turn: TurnState, _: Overflow) -> Step:
    """Pass the rest of a stream on unread, unless it goes with searches, or with other names."""
    stream = open_stream(turn)
    if turn.rounds or turn.renaming or _take_response(turn, stream.response()):
        return Step(Phase.DONE, Fail())
    return Step(Phase.PASSING, PassPiece(stream.rest()))


def pass_piece(_: TurnState, event: Piece) -> Step:
    """Give the caller a piece as it came."""
    return Step(Phase.PASSING, PassPiece(event.data))


def resume(turn: TurnState, event: Searched) -> Step:
    """Add the found tools and forward again; where only the caller can go on, let it."""
    response = turn.response
    assert response is not None
    request = _continue_request(turn, response, event.found)
    stream = turn.stream
    if request is not None:
        if stream is not None:
            stream.finish(is_last=False)
        return Step(Phase.FORWARDING, Forward(request))
    if stream is not None:
        return Step(Phase.DONE, PassPiece(stream.finish()))
    return Step(Phase.DONE, Pass(_finish(turn, response)))


def open_stream(turn: TurnState) -> Stream:
    """Return the reader of the turn's stream; a new one before the first piece."""
    if turn.stream is None:
        turn.stream = turn.tool_use.open_stream(turn.search_name)
        if (renaming := turn.renaming) is not None:
            turn.stream.give_back(renaming.names, renaming.give_back_call)
    return turn.stream


def _search(turn: TurnState, response: Json, calls: Sequence[Call]) -> Step:
    turn.response = response
    return Step(Phase.SEARCHING, Search(calls, turn.rounds + 1))


def _take_response(turn: TurnState, response: Json) -> list[Call]:
    """Return the searches that a response asks for; empty if it is for the client.

    A model that was told that it was its last search gets one more.
    """
    if turn.given_up is not None:
        refuse_form(turn, turn.given_up)
        turn.given_up = None
    accept(turn)
    stored = turn.provider.find_stored_id(response)
    if turn.session and stored:
        turn.store.keep_response(stored, turn.session, turn.incoming.upstream.scope)
    turn.responses.append(response)
    searches: list[Call] = []
    others: list[Call] = []
    for call in turn.tool_use.calls(response):
        kind = searches if call.name == turn.search_name else others
        kind.append(call)
    turn.calls = others
    max_rounds = turn.settings.max_rounds
    if not turn.restores_at_last:
        max_rounds += 1
    return searches if turn.rounds < max_rounds else []


def _continue_request(turn: TurnState, response: Json, found: Sequence[Found]) -> Json | None:
    """Add the found tools; return the next request to forward, or None in a mixed turn.

    Only the client can answer the other calls of a response that searches, and providers refuse
    calls without an answer: it gets them now, and the found tools are in its next request.
    """
    results = _answer_searches(turn, found)
    provider = turn.provider
    if turn.calls or provider.is_asking_for_more(response):
        _leave_open(turn, response, results)
        return None
    spent = response.get(provider.usage_key)
    turn.spent = add(turn.spent, spent)
    request = write_current(turn)
    max_rounds = turn.settings.max_rounds
    ends = turn.rounds >= max_rounds and not turn.restores_at_last
    if ends:
        turn.opening.dispatch.searched_as = ""  # a wrong call is the client's to judge now
        *others, last = results
        told = last._replace(text=f"{last.text}\n{NO_MORE}")
        results = [*others, told]
    request = turn.tool_use.continue_request(request, response, results)
    if ends and isinstance(provider, Native):  # whose results have no room for words
        request = provider.add_last_words(request, NO_MORE)
    if ends and turn.rounds > max_rounds:
        request = provider.forbid_calls(request)
    turn.request = declare_tools(turn, request)
    return turn.request


def _leave_open(turn: TurnState, response: Json, results: Sequence[SearchResult]) -> None:
    """Keep results for the request with which the client answers the other calls."""
    turn.was_mixed = True
    scope = turn.incoming.upstream.scope
    turn.tool_use.leave_open(response, results, scope)
    if turn.is_restored and turn.session:
        # Only the client continues this turn, and its next request needs every tool.
        turn.store.mark_expanded(turn.session, turn.offer.names)


def _answer_searches(turn: TurnState, found: Sequence[Found]) -> list[SearchResult]:
    """Count the searches of a response, and return what the model is told of each."""
    turn.rounds += 1
    turn.search_count += len(found)
    # What one response finds is declared together: the request's tools change anyway.
    is_first = turn.opening.dispatch.declares_finds and not turn.is_native
    asked = {made.query for made in turn.searched if made.round}
    results = []
    for call, selection in found:
        query = call.query
        result = _answer_search(turn, call, selection, is_first)
        if query.strip():
            made = SearchMade(turn.rounds, query, selection)
            turn.searched.append(made)
        if query in asked:
            result = result._replace(text=f"{ASKED_BEFORE}\n{result.text}")
        asked.add(query)
        results.append(result)
    return results


def _answer_search(
    turn: TurnState, call: Call, selection: Selection[Any], is_first: bool
) -> SearchResult:
    """Show the tools of a selection, as declared ones if it `is_first`; tell the model."""
    if refusal := find_refusal(call):
        return SearchResult(call, refusal, ())
    is_empty = selection.reason is Reason.EMPTY_SELECTION
    names: Sequence[str] = selection.names
    if is_empty and not turn.settings.config.restore_on_no_match:
        names = ()
    elif selection.fell_open:
        turn.is_restored = True
        names = turn.shown.every(call.query)
    has_answer = not selection.fell_open
    names, new = turn.shown.find(names, is_answer=has_answer)
    if turn.session and has_answer:
        turn.store.mark_expanded(turn.session, new)
    offer = turn.offer
    text = write_result(selection, names, len(new), offer)
    declared = names if is_first else turn.opening.choose_declared(names)
    if declared and not turn.is_restored:
        turn.show_first(declared)
        names = [name for name in names if name not in declared]
    tools = [offer.by_name[name] for name in names]
    return SearchResult(call, text, tools)


def _finish(turn: TurnState, response: Json) -> Json:
    """Return the response as the client sees it: no call of ours, and the whole usage."""
    use = turn.tool_use
    return _give(turn, use.drop_calls(response, turn.search_name))


def _give(turn: TurnState, response: Json) -> Json:
    """Return a response with the caller's own names, and the usage of the forwards before it."""
    if turn.renaming is not None:
        response = change_calls(response, turn.renaming.give_back_call)
    if turn.spent is None:
        return response
    key = turn.provider.usage_key
    return {**response, key: add(turn.spent, response.get(key))}
