"""One turn of a conversation with deferred tools, without any input or output.

    turn = prepare(…)                  tools deferred behind a search tool
    turn.first_query                   what to search for before anything is forwarded
    turn.show_fitting(query, result)   shows what fits it
    forward turn.request               → response
    turn.searches(response)            the searches the model asks for; empty: the turn is over
    turn.resume(response, selections)  adds the found tools and the results: forward again
    turn.finish(response)              the response for the client, without the search tool
    turn.end()                         report the turn to the observers

After five rounds of searches the model has every tool and no search; natively it is told instead.
"""

from collections.abc import Sequence
from typing import Any

from toolscout.client.log import logger
from toolscout.client.selection import Reason, Selection
from toolscout.discovery.dispatch import refusal_of
from toolscout.discovery.opening import Opening
from toolscout.discovery.providers import Call, Json
from toolscout.discovery.providers.fields import add
from toolscout.discovery.providers.native import Native
from toolscout.discovery.providers.provider import SearchResult
from toolscout.discovery.refusals import Form, may_refuse_call, refused_form, refuses_form
from toolscout.discovery.shown import NO_MORE, Found, result_text


class Turn(Opening):
    """A request whose tools are deferred, until it is answered. It is made as an `Opening` is."""

    def __init__(self, *opening: Any) -> None:
        super().__init__(*opening)
        self.search_count = 0
        """Searches that were answered."""
        self.searched: list[tuple[int, str, Selection[Any]]] = []
        self.calls: list[Call] = []
        """Those of the last response, without searches."""
        self.was_mixed = False
        """Whether the turn ended with searches and other calls in one response."""
        self._responses: list[Json] = []
        self._spent: Any = None
        """The usage of all forwards after which another followed."""
        self._is_accepted = self._has_ended = self._restored = False
        """The last: every tool was to come back."""
        self._given_up: Form | None = None
        """What the provider may just have refused."""

    def show_fitting(self, query: str, selection: Selection[Any]) -> None:
        """Show the few tools that fit what the user asks, so that no search is needed.

        What fits a later message stands behind the conversation wherever that can be. Without an
        answer every tool is shown; of too many, those nearest to the message.
        """
        self.searched.append((0, query, selection))
        is_first = self.first is None
        names: Sequence[str] = () if selection.fell_open else selection.names
        if selection.fell_open and selection.reason is not Reason.EMPTY_SELECTION:
            if is_first:  # nobody will answer the model's searches either
                self.shown.guess(query)
                self._request = self.start_over() if self.shown.has_room_for_all else None
        elif is_first or (self._dispatch.declares_finds and not self.is_native):
            self.show_first(names)
        else:
            self._fitting = names

    def was_sent_with(self, fields: Json) -> None:
        """Note that the request was forwarded with other fields than it was prepared with."""
        provider = self._emulated
        sent = self._emulated.history(fields)
        tools = provider.tools(self.asked)
        own = provider.history(self.asked)
        if sent != provider.history(self.request):  # somebody has masked a word of it
            self._history.forget()
            own = sent
        self._request = {**fields, "tools": self.request["tools"]}
        self.asked = provider.with_history(provider.with_tools(fields, tools), own)

    def accept(self) -> None:
        """Store the conversation: the provider takes this request, and so knows its caller."""
        self.refused.remember()
        if self._is_accepted or not self.session:
            return
        self._is_accepted = True
        store = self._settings.store
        if self._is_stored:  # nothing is put back into what is stored
            store.mark_expanded(self.session, self._fitting)
        keeps = self._settings.remember_tools or self._keeps_tools
        tools = self.offer.everything if keeps else ()
        store.mark_deferred(self.session, tools, self.provider.name)

    def leaves_out(self, error: Exception) -> bool:
        """Leave out the tools that a refusal names; whether there are any."""
        # After a search the history of a native request may refer to such a tool.
        if self.rounds and self.is_native:
            return False
        sent = self.provider.tools(self.request)
        offered = self.offer.by_name
        if not (named := self.refused.named_by(error, sent, offered)):
            return False
        self.offer = self.offer.without(named)
        self.shown.drop(named, self.offer)
        if self.rounds:
            self._request = self._with_tools(self.request)
        else:
            self._begin()
        return True

    def refused_form(self, error: Exception) -> Form | None:
        """Return the form of this request that its refusal speaks of."""
        form = refused_form(error)
        is_used = self.is_native if form == "native" else bool(self._fitting)
        return form if is_used else None

    def falls_back_after(self, error: Exception) -> bool:
        """Whether to repeat a refused forward, whose request has a plainer form now.

        First without the tools whose name or schema it refuses; a first forward also in the
        emulated form, then as it came if it held what earlier turns found.
        """
        if self.leaves_out(error):
            return True
        if self.rounds:
            return False
        self._given_up = self.refused_form(error)
        if self._fitting and self._given_up != "native" and may_refuse_call(error):
            self.shown.take_back(self._fitting)
            self._fitting = ()
            self._begin()
            return True
        if not refuses_form(error):
            return False
        if self._keeps_tools or not self.is_native:
            is_other = self._has_additions or (self._keeps_tools and not self._is_stored)
            self._request = self.start_over() if is_other else self._request
            return is_other
        self.provider = self._emulated
        self._begin()
        return True

    def searches(self, response: Json) -> list[Call]:
        """Return the searches that a response asks for; empty if it is for the client.

        A model that loads tools by itself, and was told that it was its last search, gets one more.
        """
        if self._given_up is not None:
            self.refuse(self._given_up)
            self._given_up = None
        self.accept()
        if self.session and (stored := self.provider.stored_as(response)):
            self._settings.store.keep_response(stored, self.session, self.scope)
        self._responses.append(response)
        calls = self.provider.calls(response)
        searches = [call for call in calls if call.name == self.search_name]
        self.calls = [call for call in calls if call.name != self.search_name]
        return searches if self.rounds < self._settings.max_rounds + self.is_native else []

    def resume(self, response: Json, answers: Sequence[Found]) -> Json | None:
        """Add the found tools; return the next request to forward, or None in a mixed turn.

        Only the client can answer the other calls of a response that searches, and providers refuse
        calls without an answer: it gets them now, and the found tools are in its next request.
        """
        self.rounds += 1
        self.search_count += len(answers)
        self.searched += [(self.rounds, c.query, one) for c, one in answers if c.query.strip()]
        # What one response finds is declared together: the request's tools change anyway.
        is_first = self._dispatch.declares_finds and not self.is_native
        results = [self._answered(call, selection, is_first) for call, selection in answers]
        if self.calls or self.provider.asks_for_more(response):
            self.was_mixed = True
            self.provider.leave_open(response, results, self.scope)
            if self._restored and self.session:
                # Only the client continues this turn, and its next request needs every tool.
                self._settings.store.mark_expanded(self.session, self.offer.names)
            return None
        self._spent = add(self._spent, response.get(self.provider.usage_key))
        continued = self.provider.continued(self.request, response, results)
        if isinstance(self.provider, Native) and self.rounds >= self._settings.max_rounds:
            is_final = self.rounds > self._settings.max_rounds
            continued = self.provider.with_words(continued, NO_MORE, is_final)
        self._request = self._with_tools(continued)
        return self._request

    def start_over(self) -> Json:
        """End searching, and return the request as it came."""
        self.rounds = self._settings.max_rounds
        self._history.forget()
        return self.original

    def finish(self, response: Json) -> Json:
        """Return the response as the client sees it: no call of ours, and the whole usage."""
        return self.with_usage(self.provider.without_calls(response, self.search_name))

    def end(self) -> None:
        """Report the end of the turn once, with its last response or with an error."""
        if not self._has_ended:
            self._has_ended = True
            if self._is_accepted and self._new_first is not None:
                self._settings.store.mark_visible(self.session, self._catalog, self._new_first)
            try:  # store what the turn has added to its conversation
                seen = [self.provider.without_calls(r, self.search_name) for r in self._responses]
                names = self.shown.lasting(with_all=self.was_mixed)
                self._history.keep(self.provider.history(self.request), names, seen)
            except Exception:  # the response is for the client all the same
                logger.exception("a turn could not be stored; its searches will not be put back")
            self._settings.on_end(self)

    def with_usage(self, response: Json) -> Json:
        """Add the usage of the forwards before it to a response's own."""
        if self._spent is None:
            return response
        key = self.provider.usage_key
        return {**response, key: add(self._spent, response.get(key))}

    def _answered(self, call: Call, selection: Selection[Any], is_first: bool) -> SearchResult:
        """Show the tools of a selection, as declared ones if it `is_first`; tell the model."""
        if refusal := refusal_of(call):
            return SearchResult(call, refusal, ())
        names: Sequence[str] = selection.names
        if selection.reason is Reason.EMPTY_SELECTION and not self._config.restore_on_no_match:
            names = ()
        elif selection.fell_open:
            self._restored = True
            names = self.shown.every(call.query)
        names, new = self.shown.find(names, is_answer=not selection.fell_open)
        if self.session and not selection.fell_open:
            self._settings.store.mark_expanded(self.session, new)
        text = result_text(selection, names, len(new), self.offer)
        if is_first and names and not self._restored:
            self.show_first(names)
            names = ()
        return SearchResult(call, text, [self.offer.by_name[name] for name in names])
