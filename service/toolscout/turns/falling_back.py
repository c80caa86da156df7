"""What a turn tries when a forward has failed: a plainer request each time.

First without the tools whose name or schema the provider refuses; a first forward also without a
call that the model did not make, in the emulated form, and as it came if it held what earlier turns
found. A forward after a search is tried once more as the caller's own request.
"""

import msgspec

from toolscout.client.log import logger
from toolscout.client.offer import Offer
from toolscout.turns.events import Fail, Failure, Forward, Sent
from toolscout.turns.keeping import refuse_form
from toolscout.turns.opening import open_turn
from toolscout.turns.providers import Provider
from toolscout.turns.refusals import Form, can_be_ours, can_refuse_call, find_form, is_form_refusal
from toolscout.turns.state import Phase, Step, TurnState
from toolscout.turns.writing import declare_tools, start_over, write_current

STARTS_OVER = "forwarding failed after a search; the request goes out as it came"


def try_again(turn: TurnState, event: Failure) -> Step:
    """Forward a plainer request, if there is one; after a search, the caller's own."""
    error = event.error
    if not event.can_retry:
        _learn_from(turn, error)
        return fail(turn, event)
    if _fall_back(turn, error):
        return Step(Phase.FORWARDING, Forward(write_current(turn)))
    is_after_search = bool(turn.responses)
    if event.streams and turn.rounds > 0:  # a stream that began as it came is tried again, too
        is_after_search = True
    if not is_after_search or turn.has_started_over or not can_be_ours(error):
        return fail(turn, event)
    # The added tools may be the cause, so the client's own request is tried.
    logger.warning(STARTS_OVER)
    turn.has_started_over = True
    request = start_over(turn)
    if turn.stream is not None:
        turn.stream.finish(is_last=False)
    return Step(Phase.RESTORING, Forward(request))


def try_without_tools(turn: TurnState, event: Failure) -> Step:
    """Forward without the tools that are refused, if a stream waits for an answer."""
    if event.streams and _leave_out(turn, event.error):
        return Step(Phase.RESTORING, Forward(write_current(turn)))
    return fail(turn, event)


def fail(_: TurnState, __: Failure) -> Step:
    """Give the caller the error."""
    return Step(Phase.DONE, Fail())


def note_sent(turn: TurnState, event: Sent) -> Step:
    """Take the request as it was sent: the answer belongs to that one."""
    fields = event.fields
    provider = turn.incoming.provider
    asked = turn.asked
    request = write_current(turn)
    tools = provider.tools(asked)
    own = provider.history(asked)
    sent = provider.history(fields)
    if sent != provider.history(request):  # somebody has masked a word of it
        turn.opening.history.forget()
        own = sent
    turn.request = {**fields, "tools": request["tools"]}
    asked = provider.with_history(provider.with_tools(fields, tools), own)
    turn.incoming = msgspec.structs.replace(turn.incoming, request=asked)
    return Step(Phase.FORWARDING)


def _learn_from(turn: TurnState, error: Exception) -> None:
    """Remember what a refusal says, where no other request can be tried."""
    if _leave_out(turn, error):
        turn.refused.remember()
    if (form := _find_refused_form(turn, error)) is not None:
        refuse_form(turn, form)


def _fall_back(turn: TurnState, error: Exception) -> bool:
    """Make the request plainer after a refusal; return whether it is another one now."""
    if _leave_out(turn, error):
        return True
    return not turn.rounds and _change_form(turn, error)


def _change_form(turn: TurnState, error: Exception) -> bool:
    """Give a first request a plainer form; return whether there is one."""
    incoming = turn.incoming
    turn.given_up = _find_refused_form(turn, error)
    if turn.fitting and turn.given_up != "native" and can_refuse_call(error):
        turn.fitting = ()
        _open_again(turn, turn.offer, turn.provider)
        return True
    if not is_form_refusal(error):
        return False
    if turn.is_native and not incoming.keeps_tools:
        _open_again(turn, turn.offer, incoming.provider)
        return True
    has_more = incoming.keeps_tools and not incoming.is_stored
    if not turn.opening.has_additions and not has_more:
        return False
    turn.request = start_over(turn)
    return True


def _leave_out(turn: TurnState, error: Exception) -> bool:
    """Leave out the tools that a refusal names; return whether there are any."""
    # After a search the history of a native request may refer to such a tool.
    if turn.rounds and turn.is_native:
        return False
    sent = turn.provider.tools(write_current(turn))
    named = turn.refused.named_by(error, sent, turn.offer.by_name)
    if not named:
        return False
    left = turn.offer.without(named)
    if turn.rounds:
        turn.opening.offer = left
        turn.shown.drop(named, left)
        turn.request = declare_tools(turn, write_current(turn))
    else:
        _open_again(turn, left, turn.provider)
    return True


def _find_refused_form(turn: TurnState, error: Exception) -> Form | None:
    """Return the form of this request that its refusal speaks of."""
    form = find_form(error)
    is_made_up = bool(turn.fitting) and not turn.words
    is_used = turn.is_native if form == "native" else is_made_up
    return form if is_used else None


def _open_again(turn: TurnState, offer: Offer, provider: Provider) -> None:
    """Open the request anew, with other tools or in another form."""
    before = turn.opening.shown
    turn.opening = open_turn(turn.incoming, offer, provider, turn.first or ())
    turn.opening.shown.take_guess(before)
    turn.request = None
