"""One turn of a conversation with deferred tools, without any input or output.

    turn = begin(…)                    tools deferred, replaced by the search tool
    forward turn.request               → response
    turn.searches(response)            the searches the model asks for; empty: the turn is over
    turn.resume(response, selections)  adds the found tools and the results: forward again
    turn.finish(response)              the response for the client, without the search tool
    turn.end()                         report the turn to the observers

At most five rounds of searches; the forward after the last has every tool and no search tool, so
a model that only ever searches still gets to act.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from toolscout.client.discovery.session import SessionStore
from toolscout.client.offer import Offer
from toolscout.client.providers import Call, Json, Provider
from toolscout.client.providers.provider import QUERY_SCHEMA
from toolscout.client.providers.usage import add
from toolscout.client.selector.selection import Selection
from toolscout.tools.shapes import texts
from toolscout.tools.summary import first_sentence

Order = Literal["rank", "catalog", "append"]
"""Position of found tools: best first before earlier finds (`rank`), in the request's order
(`catalog`), or last (`append`). In each, any change invalidates a cached prompt.
"""

MAX_ROUNDS = 5

DESCRIPTION = (
    "Search for tools that can do what is needed. Most tools are not listed until they are found "
    "here: describe the action in a few words, then call the tools that appear."
)
MAX_LISTED = 25
"""Maximum number of found tools in the result text; the model gets the definitions of all."""

logger = logging.getLogger("toolscout.client")

Found = tuple[Call, Selection[Any]]
"""A search of the model, and its result."""


class TurnSettings(msgspec.Struct, frozen=True):
    """Settings that all turns of a flow share."""

    store: SessionStore
    search_name: str
    order: Order
    max_rounds: int
    on_end: Callable[["Turn"], None]
    """Called once when a turn has ended."""


class Turn:
    """A request whose tools are deferred, until it is answered.

    Args:
        request: as it came.
        provider: whose shapes these are.
        tools: the tools of the request, or those that its session has deferred.
        offer: the same tools by name.
        session: the conversation; empty when it is unknown.
        settings: those of the flow.
    """

    def __init__(
        self,
        request: Json,
        provider: Provider,
        tools: Sequence[Any],
        offer: Offer,
        session: str,
        settings: TurnSettings,
    ) -> None:
        self.session = session
        self.offer = offer
        self.provider = provider
        self.rounds = 0
        self.search_count = 0
        """Number of searches that were answered."""
        self._spent: Json = {}
        self._fell_open = False
        self._tools = tools
        self._settings = settings
        self._has_ended = False
        self.search_name = free_name(settings.search_name, offer.names)
        self._search_tool = provider.function(self.search_name, DESCRIPTION, QUERY_SCHEMA)
        known = [*settings.store.expanded(session), *provider.recent(request)]
        if forced := provider.forced(request):
            known.append(forced)
        # A found tool that is no longer in the request must not be shown.
        self._shown = [name for name in dict.fromkeys(known) if name in offer.by_name]
        self.original = request
        self.request = self._with_tools(request)
        if session:
            settings.store.store_deferred(session, offer.names, tools, provider.name)

    def searches(self, response: Json) -> list[Call]:
        """Return the searches that a response asks for; empty if it is for the client."""
        calls = self.provider.calls(response)
        found = [call for call in calls if call.name == self.search_name]
        return found if self.rounds < self._settings.max_rounds else []

    def is_mixed(self, response: Json) -> bool:
        """Whether a response calls other tools besides the search.

        Only the client can answer those calls, and providers refuse a turn with unanswered calls.
        So they are returned immediately, and the found tools are in the client's next request.
        """
        return any(call.name != self.search_name for call in self.provider.calls(response))

    def resume(self, response: Json, found: Sequence[Found]) -> Json | None:
        """Add the found tools; return the next request to forward, or None in a mixed turn."""
        self.rounds += 1
        self.search_count += len(found)
        results = []
        for call, selection in found:
            new = self._show(selection)
            results.append((call, result_text(selection, new, self.offer)))
        if self.is_mixed(response):
            if self._fell_open and self.session:
                # Only the client continues this turn, and its next request needs every tool.
                self._settings.store.mark_expanded(self.session, self.offer.names)
            return None
        self._spent = self._usage_with(response)
        self.request = self._with_tools(self.provider.continued(self.request, response, results))
        return self.request

    def end_searching(self) -> None:
        """Treat the next response as the last one, even if it asks for a search."""
        self.rounds = self._settings.max_rounds

    def finish(self, response: Json) -> Json:
        """Return the response as the client sees it: no search, and the usage of all forwards."""
        return self.with_usage(self.provider.without_calls(response, self.search_name))

    def end(self) -> None:
        """Report the end of the turn once, with its last response or with an error."""
        if not self._has_ended:
            self._has_ended = True
            self._settings.on_end(self)

    def with_usage(self, response: Json) -> Json:
        """Add the usage of the forwards before it to a response's own."""
        return {**response, **self._usage_with(response)} if self._spent else response

    @property
    def shown(self) -> int:
        """Number of tools in the current request, the search tool counted."""
        if self.rounds >= self._settings.max_rounds:
            return len(self.offer.names)
        return 1 + len(self._shown)

    def _usage_with(self, response: Json) -> Json:
        own = {key: response.get(key) for key in self.provider.usage_keys}
        summed = {key: add(self._spent.get(key), value) for key, value in own.items()}
        return {key: value for key, value in summed.items() if value is not None}

    def _show(self, selection: Selection[Any]) -> list[str]:
        """Add found tools, each once; raw definitions that are no objects are left out."""
        new = []
        for name in selection.names:
            raw = self.offer.by_name.get(name)
            if not isinstance(raw, dict):
                logger.warning("skipping a found tool without a valid definition")
            elif name not in self._shown:
                new.append(name)
        self._shown = (
            [*new, *self._shown] if self._settings.order == "rank" else [*self._shown, *new]
        )
        if self.session and not selection.fell_open:
            self._settings.store.mark_expanded(self.session, new)
        if selection.fell_open:
            self._fell_open = True
        return new

    def _ordered(self) -> list[str]:
        if self._settings.order == "catalog":
            return [name for name in self.offer.names if name in self._shown]
        return self._shown

    def _with_tools(self, request: Json) -> Json:
        if self.rounds >= self._settings.max_rounds:
            return self.provider.with_tools(request, self._tools)
        return self.provider.with_tools(
            request, [self._search_tool, *self.offer.pick(self._ordered())]
        )


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """The name of the search tool, numbered when a real tool has it already."""
    if wanted not in taken:
        return wanted
    number = 2
    while f"{wanted}_{number}" in taken:
        number += 1
    logger.warning("a tool named %s exists; the search tool is %s_%d", wanted, wanted, number)
    return f"{wanted}_{number}"


def result_text(selection: Selection[Any], new: Sequence[str], offer: Offer) -> str:
    """Return the result of a search as text for the model."""
    if selection.fell_open:
        return "The search gave no answer, so all tools are available now."
    if not selection.names:
        return "No tool was found. Try other words."
    lines = ["These tools are available now:"]
    for name in selection.names[:MAX_LISTED]:
        summary = first_sentence(texts(offer.by_name[name])[1])
        lines.append(f"- {name}: {summary}" if summary else f"- {name}")
    if not new:
        lines.append("(They were available before.)")
    return "\n".join(lines)
