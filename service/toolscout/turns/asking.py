"""What happens before the first forward of a turn: ask what fits the user's message, show it."""

from collections.abc import Sequence
from typing import Any

from toolscout.client.selection import Reason, Selection
from toolscout.tools.summary import estimate_definition_tokens
from toolscout.turns.events import Release, Report, Request, Search, Searched
from toolscout.turns.local import is_asking
from toolscout.turns.providers import Call
from toolscout.turns.state import Phase, SearchMade, Step, TurnState
from toolscout.turns.writing import can_make_up_call, start_over, write_unsearched

OTHERS_TOKENS = 1_000
"""Estimated tokens of the definitions that are shown behind a message beside the best one.

Of 400 questions a set this keeps all but .0 to 1.2 % of the wanted tools among five, and saves a
sixth to a third of the tokens where definitions are long.
"""


def begin(turn: TurnState, _: Request) -> Step:
    """Search for what fits the user's message, if it is to be shown first."""
    query = _find_first_query(turn)
    if not query:
        return _open(turn)
    call = Call("", "", {"query": query})
    return Step(Phase.ASKING, Search([call], 0))


def show_first_finds(turn: TurnState, event: Searched) -> Step:
    """Show what fits the user's message, so that the model need not search for it."""
    for call, selection in event.found:
        _show_fitting(turn, call.query, selection)
    return _open(turn)


def _open(turn: TurnState) -> Step:
    """Let the request be forwarded: with the search tool, if the model can search."""
    if turn.can_search:
        return Step(Phase.FORWARDING, Report("deferred"))
    request = write_unsearched(turn)
    return Step(Phase.DONE, Release(request))


def _find_first_query(turn: TurnState) -> str:
    """Return what to search for before the first forward; empty if nothing is."""
    config = turn.settings.config
    if config.strategy != "hybrid-first" and turn.can_search:
        return ""
    # What fits the first message may be known; a later message may need something else.
    is_known = _find_first(turn) is not None
    if is_known and not (config.ask_every_turn and _is_asking_again(turn)):
        return ""
    query = turn.user_query
    return query if query.strip() else ""


def _is_asking_again(turn: TurnState) -> bool:
    """Whether a later message of the user asks for something, and an answer can be shown."""
    incoming = turn.incoming
    provider = turn.provider
    if incoming.keeps_tools or not _can_show(turn):
        return False
    if not incoming.has_begun or not provider.is_ending_with_user(turn.asked):
        return False
    words = provider.last_words(turn.asked)
    return is_asking(words)


def _can_show(turn: TurnState) -> bool:
    """Whether what fits a later message can be shown behind the conversation."""
    if turn.is_native:
        return can_make_up_call(turn)
    return turn.opening.dispatch.is_active or turn.can_search


def _find_first(turn: TurnState) -> Sequence[str] | None:
    """Return what fits the first message, if that is known; what was visible so stays so."""
    if turn.first is not None:
        return turn.first
    incoming = turn.incoming
    return turn.store.visible(turn.session, incoming.catalog, or_latest=incoming.has_begun)


def _show_fitting(turn: TurnState, query: str, selection: Selection[Any]) -> None:
    """Show the few tools that fit what the user asks, so that no search is needed.

    What fits a later message stands behind the conversation wherever that can be. Without an
    answer every tool is shown; of too many, those nearest to the message.
    """
    made = SearchMade(0, query, selection)
    turn.searched.append(made)
    is_first = _find_first(turn) is None
    has_answer = not selection.fell_open
    if not has_answer and selection.reason is not Reason.EMPTY_SELECTION:
        if is_first:  # nobody will answer the model's searches either
            turn.shown.guess(query)
            turn.request = start_over(turn) if turn.shown.has_room_for_all else None
        return
    names = selection.names if has_answer else ()
    declares = turn.opening.dispatch.declares_finds and not turn.is_native
    if is_first or declares:
        turn.show_first(names)
    else:
        if declared := turn.opening.choose_declared(names):
            turn.show_first(declared)
        others = [name for name in names if name not in declared]
        turn.fitting = _choose_short(turn, others)


def _choose_short(turn: TurnState, names: Sequence[str]) -> list[str]:
    """Return the best name, and of the others those whose definitions fit into the budget.

    They stay in the conversation, and one that is left out can be searched.
    """
    tools = turn.offer.by_name
    chosen = [*names[:1]]
    left = OTHERS_TOKENS
    for name in names[1:]:
        tokens = estimate_definition_tokens([tools.get(name)])
        if tokens <= left:
            left -= tokens
            chosen.append(name)
    return chosen
