"""What is kept of a turn for those after it: who it belongs to, what it has found and refused."""

from toolscout.client.log import logger
from toolscout.turns.events import End, Report
from toolscout.turns.opening import find_refuser
from toolscout.turns.refusals import WARNINGS, Form
from toolscout.turns.state import Phase, Step, TurnState
from toolscout.turns.writing import write_current


def accept(turn: TurnState) -> None:
    """Store the conversation: the provider takes this request, and so knows its caller."""
    turn.refused.remember()
    if turn.is_accepted or not turn.session:
        return
    turn.is_accepted = True
    store = turn.store
    if turn.incoming.is_stored:  # nothing is put back into what is stored
        store.mark_expanded(turn.session, turn.fitting)
    if turn.settings.remember_tools or turn.incoming.keeps_tools:
        offer = turn.renaming.written if turn.renaming else turn.offer
        store.mark_deferred(turn.session, offer.everything, turn.provider.name)
    else:
        store.mark_deferred(turn.session)


def refuse_form(turn: TurnState, form: Form) -> None:
    """Use this form no more for its model, as long as the process lives."""
    upstream = turn.incoming.upstream
    refuser = find_refuser(upstream)
    turn.settings.refusing.put((form, refuser), True)
    logger.warning(WARNINGS[form], upstream.model)


def end(turn: TurnState, _: End) -> Step:
    """Store what the turn has added to its conversation, and report the turn."""
    try:
        if turn.is_accepted and turn.first is not None:
            turn.store.mark_visible(turn.session, turn.incoming.catalog, turn.first)
        _keep_history(turn)
    except Exception:  # the response is for the client all the same
        logger.exception("a turn could not be stored; its searches will not be put back")
    return Step(Phase.ENDED, Report("finished"))


def _keep_history(turn: TurnState) -> None:
    """Store what the turn has added to its conversation."""
    request = write_current(turn)
    messages = turn.provider.history(request)
    names = turn.shown.lasting(with_all=turn.was_mixed)
    name = turn.search_name
    seen = [turn.tool_use.drop_calls(response, name) for response in turn.responses]
    turn.opening.history.keep(messages, turn.words, names, seen, turn.stream is not None)


def stay_ended(_: TurnState, __: End) -> Step:
    """Do nothing: the turn was reported."""
    return Step(Phase.ENDED)
