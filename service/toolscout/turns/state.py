"""The state of one turn: where it stands, and everything that it remembers."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from toolscout.client.offer import Offer
from toolscout.client.selection import Selection
from toolscout.turns.dispatch import ToolUse
from toolscout.turns.events import Effect
from toolscout.turns.left_out import RefusedTools
from toolscout.turns.opening import Incoming, Opening, TurnSettings
from toolscout.turns.providers import Call, Json, Provider
from toolscout.turns.providers.provider import Choice
from toolscout.turns.providers.stream import Stream
from toolscout.turns.refusals import Form
from toolscout.turns.renaming import Renaming
from toolscout.turns.session import SessionStore
from toolscout.turns.shown import Shown


class Phase(Enum):
    """Where a turn stands. `table.py` says which event each takes, and where that leads."""

    NEW = "new"
    """The tools are deferred; nothing is searched or forwarded."""
    ASKING = "asking"
    """What fits the user's message is searched, before the first forward."""
    FORWARDING = "forwarding"
    """A request is written, or with the provider."""
    STREAMING = "streaming"
    """A stream is read, and what is no search goes to the caller."""
    SEARCHING = "searching"
    """The searches of a response are answered."""
    RESTORING = "restoring"
    """The request goes out as it came, because a forward after a search failed."""
    PASSING = "passing"
    """A stream goes to the caller unread."""
    DONE = "done"
    """The caller has the answer or the error."""
    ENDED = "ended"
    """The turn was stored and reported."""


class SearchMade(NamedTuple):
    """A search that was answered."""

    round: int
    """0 before the first forward."""
    query: str
    selection: Selection[Any]


class TurnState(msgspec.Struct):
    """Everything that a turn knows; only its handlers change it."""

    incoming: Incoming
    """The request as it came."""
    opening: Opening
    """The request in the form in which it goes out."""
    refused: RefusedTools
    """The tools that the refusals of this turn name."""
    phase: Phase = Phase.NEW
    request: Json | None = None
    """The latest request; None until the first one is written."""
    first: Sequence[str] | None = None
    """What fits the conversation's first message; None unless it is known from this turn."""
    fitting: Sequence[str] = ()
    """What fits the last message of a conversation that has begun."""
    words: str = ""
    """What was put behind that message, where no search may be made for the model."""
    rounds: int = 0
    """Forwards after a search."""
    search_count: int = 0
    """Searches of the model that were answered."""
    searched: list[SearchMade] = []
    """All searches with a query, those before the first forward included."""
    calls: list[Call] = []
    """Those of the last response, without searches."""
    response: Json | None = None
    """The response whose searches are being answered."""
    responses: list[Json] = []
    """All responses that were read, oldest first."""
    spent: Json | None = None
    """The usage of all forwards after which another followed."""
    is_plain: bool = False
    """Whether nothing is hidden or searched, and names and keys are all that changes."""
    renaming: Renaming | None = None
    """How the provider knows the tools; None where it does by their own names and keys."""
    stream: Stream | None = None
    """Reads the pieces of all answers; None before the first."""
    was_mixed: bool = False
    """Whether the turn ended with searches and other calls in one response."""
    is_accepted: bool = False
    """Whether the provider has taken a request."""
    is_restored: bool = False
    """Whether every tool was to come back."""
    has_started_over: bool = False
    """Whether a forward after a search has failed, and the request went out as it came."""
    given_up: Form | None = None
    """The form that the provider may just have refused."""

    def show_first(self, names: Sequence[str]) -> None:
        """Declare a conversation's first finds, in this and in all later requests."""
        self.first = list(dict.fromkeys([*(self.first or ()), *names]))
        self.opening.show_first(names)

    @property
    def asked(self) -> Json:
        """The request as it came."""
        return self.incoming.request

    @property
    def settings(self) -> TurnSettings:
        """What every turn of the flow is made with."""
        return self.incoming.settings

    @property
    def store(self) -> SessionStore:
        """What is kept of all conversations."""
        return self.settings.store

    @property
    def session(self) -> str:
        """The conversation; empty when it is unknown."""
        return self.incoming.upstream.session

    @property
    def choice(self) -> Choice:
        """What the request says about calls."""
        return self.incoming.choice

    @property
    def provider(self) -> Provider:
        """The interface in the current form."""
        return self.opening.provider

    @property
    def tool_use(self) -> ToolUse:
        """How the model gets its tools and calls them, in the current form."""
        return self.opening.tool_use

    @property
    def search_name(self) -> str:
        """The name by which the model calls the search tool."""
        return self.opening.search_name

    @property
    def is_native(self) -> bool:
        """Whether the provider loads the deferred tools by itself."""
        return self.opening.is_native

    @property
    def offer(self) -> Offer:
        """The tools that the provider has not refused."""
        return self.opening.offer

    @property
    def shown(self) -> Shown:
        """Which tools the model sees."""
        return self.opening.shown

    @property
    def user_query(self) -> str:
        """The text of the user's last message."""
        return self.provider.query(self.asked)

    @property
    def is_whole(self) -> bool:
        """Whether every tool is shown, because no more searches are answered."""
        return self.rounds >= self.settings.max_rounds and self.restores_at_last

    @property
    def restores_at_last(self) -> bool:
        """Whether the forward after the last search has every tool.

        Where the searches were answered, the model is told instead that it was the last one.
        """
        restores = self.is_restored or self.settings.config.restore_on_no_match
        return restores and not self.is_native

    @property
    def can_search(self) -> bool:
        """Whether the model can search: none of several answers could be continued."""
        return self.is_native or self.provider.choices(self.asked) == 1


class Step(NamedTuple):
    """What a handler makes of an event."""

    phase: Phase
    """Where the turn stands now."""
    effect: Effect | None = None
    """What the driver does next; None where it waits for another event."""
