"""One turn of a conversation with deferred tools, as a table, without any input or output.

    turn = Turn(request, offer, …)     tools deferred behind a search tool
    turn.handle(Request())             the search for what fits the user's message, if there is one
    turn.request                       the request to forward
    turn.handle(Answer(response))      the searches of the model; or the response for the client
    turn.handle(Searched(found))       the next request, with the found tools
    turn.handle(End())                 the report of the turn

`table.py` says which event each phase takes, what handles it, and where that leads.
"""

from collections.abc import Sequence

from toolscout.client.offer import Offer
from toolscout.turns.answering import open_stream
from toolscout.turns.events import Effect, Event
from toolscout.turns.left_out import RefusedTools, Upstream
from toolscout.turns.opening import TurnSettings, open_turn, read_request
from toolscout.turns.providers import Json
from toolscout.turns.state import Phase, TurnState
from toolscout.turns.table import TABLE
from toolscout.turns.writing import write_current, write_original


class LocalProtocolError(RuntimeError):
    """A driver has told a turn of what cannot be, where it stands."""


class Turn:
    """A request whose tools are deferred, until it is answered.

    Args:
        request: as it came, without a search of the caller's own.
        offer: the tools of the request; without any, those that its session deferred last.
        settings: those of all turns of a flow.
        upstream: where the request goes, whose it is, and in which conversation.
        visible: names of tools that stay visible.
    """

    def __init__(
        self,
        request: Json,
        offer: Offer,
        settings: TurnSettings,
        upstream: Upstream,
        visible: Sequence[str] = (),
    ) -> None:
        incoming = read_request(request, offer, settings, upstream, visible)
        first = [*dict.fromkeys(incoming.first)]
        opening = open_turn(incoming, offer, incoming.native or incoming.provider, first)
        refused = RefusedTools(settings.left_out, upstream, incoming.choice.names)
        self.state = TurnState(incoming, opening, refused, first=first or None)

    def handle(self, event: Event) -> Effect | None:
        """Take an event; return what the driver is to do.

        Raises:
            LocalProtocolError: no such event can be, where the turn stands.
        """
        state = self.state
        row = TABLE.get((state.phase, type(event)))
        if row is None:
            what = type(event).__name__
            raise LocalProtocolError(f"a turn that is {state.phase.value} takes no {what}")
        step = row.handle(state, event)
        state.phase = step.phase
        return step.effect

    def keep_plain(self, request: Json) -> None:
        """Forward a request as it is: only the names and keys of its calls are given back."""
        state = self.state
        state.request = request
        state.phase = Phase.FORWARDING
        state.is_plain = True
        state.rounds = state.settings.max_rounds
        state.is_restored = state.has_started_over = state.is_accepted = True
        state.opening.history.forget()

    @property
    def request(self) -> Json:
        """The request to forward; the first is made when it is asked for."""
        return write_current(self.state)

    @property
    def original(self) -> Json:
        """The request as it came, with every tool up to the provider's maximum."""
        return write_original(self.state)

    def write_error(self, status: int, error: Json) -> bytes:
        """Return the end of a stream that has failed, in the provider's own form."""
        return open_stream(self.state).fail(status, error)
