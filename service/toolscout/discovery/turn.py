"""One turn of a conversation with deferred tools, without any input or output.

    turn = prepare(…)                  tools deferred behind a search tool
    forward turn.request               → response
    turn.searches(response)            the searches the model asks for; empty: the turn is over
    turn.resume(response, selections)  adds the found tools and the results: forward again
    turn.finish(response)              the response for the client, without the search tool
    turn.end()                         report the turn to the observers

After five rounds of searches the model has every tool and no search; natively it is told instead.
"""

from collections.abc import Sequence
from typing import Any, cast

from toolscout.client.log import logger
from toolscout.client.offer import Offer
from toolscout.client.selection import Reason, Selection
from toolscout.discovery.dispatch import NAME, Dispatch
from toolscout.discovery.history import History, seed_of
from toolscout.discovery.left_out import Refused, Upstream
from toolscout.discovery.providers import Call, Json, Provider, native_of, provider_named
from toolscout.discovery.providers.calls import is_of_model
from toolscout.discovery.providers.fields import summed
from toolscout.discovery.providers.native import Native
from toolscout.discovery.providers.provider import QUERY_SCHEMA, SearchResult
from toolscout.discovery.refusals import names_native_form, refuses_form
from toolscout.discovery.settings import TurnSettings
from toolscout.discovery.shown import NO_MORE, Found, Shown, description, free_name, result_text


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
        provider, session = provider_named(upstream.interface), upstream.session
        self.session, self.offer = session, offer
        self.rounds = self.search_count = 0
        """Forwards after a search, and searches that were answered."""
        self.searched: list[tuple[int, str, Selection[Any]]] = []
        self.calls: list[Call] = []
        """Those of the last response, without searches."""
        self.was_mixed = False
        """Whether the turn ended with searches and other calls in one response."""
        self._responses: list[Json] = []
        self._spent: Json = {}
        self._is_accepted = self._has_ended = self._restored = self._fell_back = False
        """The last two: every tool was to come back; the native form was just refused."""
        self._settings, self._config = settings, (config := settings.config)
        self._upstream, self.scope = upstream, upstream.scope
        self._new_first: Sequence[str] | None = None  # unless it is known from before
        self.asked = request
        """The request as it came."""
        self._request: Json | None = None
        self._dispatch = Dispatch(provider, free_name(NAME, offer.names), config.dispatch)
        self._emulated = provider = cast("Provider", self._dispatch)
        native = native_of(provider, request) if settings.native else None
        self.provider = (not settings.refusing.get(upstream.of_anyone) and native) or provider
        choice = provider.choice(request)
        self.refused = Refused(settings.left_out, upstream, choice.names)
        limit = provider.max_tools and provider.max_tools - (1 if config.dispatch == "off" else 2)
        self.shown = Shown(offer, settings.order, limit)
        self._needed = (*offer.endings(choice.must_call), *choice.names)
        self._catalog = offer.digest()
        often = settings.store.most_called(session, self.scope) if config.keeps_most_called else ()
        self.shown.keep((*config.pins, *often, *visible))
        if isinstance(self.provider, Native):
            self.shown.keep(self.provider.undeferred(offer))
        if self.first:
            self.show_first(self.first)
        self._begin()

    def _begin(self) -> None:
        """Read the history in the form of the provider, and write the first request."""
        provider, names, store = self.provider, self.offer.names, self._settings.store
        self.search_name = provider.search_name or free_name(self._config.search_tool_name, names)
        about = self.offer.once("description", lambda: description(names))
        self.search_tool = provider.function(self.search_name, about, QUERY_SCHEMA)
        request = self.asked
        # What the provider stores of a conversation holds its searches already.
        is_stored = bool(provider.previous(request))
        is_kept = is_stored or provider.keeps_tools(request)
        form = "" if is_kept else type(provider).__name__
        seed = seed_of(form, self.session, self._catalog, request)
        self._history = history = History(provider.history(request), store, seed)
        if history.searches:  # else the caller's own bytes stay as they are
            request = provider.with_history(request, history.whole)
        # Where messages were changed or other tools offered, the session is what is left.
        found = history.names if history.is_known else store.expanded(self.session)
        self._known = known = [*found, *provider.recent(self.asked)]
        is_told = is_stored and (self.is_native or self._dispatch.is_active)
        loaded = known if is_told else provider.referred(history.searches)
        unloaded = [name for name in known if name not in loaded]
        self._has_additions = bool(found or history.searches)
        needed = [name for name in self._needed if name not in loaded]
        if isinstance(provider, Native) and not is_stored and provider.can_load(request):
            self._loader: Native | None = provider
            self._unloaded = [*unloaded, *needed]
        else:
            self._loader, self._unloaded = None, unloaded
            self.shown.keep(needed)
        self._resumed, self._request = request, None

    @property
    def request(self) -> Json:
        """The next request to forward; the first is made when it is asked for."""
        if self._request is None:
            resumed = self._resumed
            if self._loader is None:
                self.shown.know(self._unloaded)
            else:
                tools = self.shown.load(self._unloaded)
                resumed = self._loader.loaded(resumed, self.search_name, tools)
            self._request = self._with_tools(resumed)
        return self._request

    @property
    def original(self) -> Json:
        """The request as it came, with every tool up to the provider's maximum."""
        return self._with_every_tool(self.asked)

    @property
    def user_query(self) -> str:
        """The text of the user's last message."""
        return self.provider.query(self.asked)

    @property
    def is_native(self) -> bool:
        """Whether the provider loads the deferred tools by itself."""
        return self.provider is not self._emulated

    @property
    def can_search(self) -> bool:
        """Whether the model can search: none of several answers could be continued."""
        return self.is_native or self._emulated.choices(self.asked) == 1

    @property
    def unsearched(self) -> Json | None:
        """The request without a search tool, where the model cannot search."""
        if self.can_search:
            return None
        self.shown.know(self._known)
        _, visible, known, _ = self.shown.tools()
        tools = [*visible, *known]
        return self._emulated.with_tools(self.asked, tools) if tools else self.original

    def show_first(self, names: Sequence[str]) -> None:
        """Declare a conversation's first finds, in this and in all later requests."""
        self._new_first = names
        self.shown.keep_found(names)
        if names:
            self._dispatch.begin()

    def show_without_answer(self) -> None:
        """Show every tool, because nobody answers; of too many, those nearest to the message."""
        self.shown.guess(self.user_query)
        self._request = self.start_over() if self.shown.has_room_for_all else None

    def was_sent_with(self, fields: Json) -> None:
        """Note that the request was forwarded with other fields than it was prepared with."""
        provider, sent = self._emulated, self._emulated.history(fields)
        tools, own = provider.tools(self.asked), provider.history(self.asked)
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
        keeps = self._settings.remember_tools or self.provider.keeps_tools(self.asked)
        tools = self.offer.everything if keeps else ()
        store.mark_deferred(self.session, tools, self.provider.name)

    def leaves_out(self, error: Exception) -> bool:
        """Leave out the tools that a refusal names; whether there are any."""
        # After a search the history of a native request may refer to such a tool.
        if self.rounds and self.is_native:
            return False
        sent, offered = self.provider.tools(self.request), self.offer.by_name
        if not (named := self.refused.named_by(error, sent, offered)):
            return False
        self.offer = self.offer.without(named)
        self.shown.drop(named, self.offer)
        if self.rounds:
            self._request = self._with_tools(self.request)
        else:
            self._begin()
        return True

    def falls_back_after(self, error: Exception) -> bool:
        """Whether to repeat a refused forward, whose request has a plainer form now.

        First without the tools whose name or schema it refuses; a first forward also in the
        emulated form, then as it came if it held what earlier turns found.
        """
        if self.leaves_out(error):
            return True
        if self.rounds or not refuses_form(error):
            return False
        provider = self.provider
        if (keeps := provider.keeps_tools(self.asked)) or not self.is_native:
            is_other = self._has_additions or (keeps and not provider.previous(self.asked))
            self._request = self.start_over() if is_other else self._request
            return is_other
        self._fell_back = names_native_form(error)
        self.provider = self._emulated
        self._begin()
        return True

    def emulate_from_now_on(self) -> None:
        """Use the emulated form for this model as long as the process lives."""
        upstream = self._upstream
        self._settings.refusing.put(upstream.of_anyone, True)
        logger.warning("model %s takes no deferred tools; they are emulated", upstream.model)

    def searches(self, response: Json) -> list[Call]:
        """Return the searches that a response asks for; empty if it is for the client.

        A model that loads tools by itself, and was told that it was its last search, gets one more.
        """
        if self._fell_back:
            self._fell_back = False
            self.emulate_from_now_on()
        self.accept()
        if self.session and (stored := self.provider.stored_as(response)):
            self._settings.store.keep_response(stored, self.session, self.scope)
        self._responses.append(response)
        calls = self.provider.calls(response)
        found = [call for call in calls if call.name == self.search_name]
        self.calls = [call for call in calls if call.name != self.search_name]
        return found if self.rounds < self._settings.max_rounds + self.is_native else []

    def resume(self, response: Json, found: Sequence[Found]) -> Json | None:
        """Add the found tools; return the next request to forward, or None in a mixed turn.

        Only the client can answer the other calls of a response that searches, and providers refuse
        calls without an answer: it gets them now, and the found tools are in its next request.
        """
        self.rounds += 1
        self.search_count += len(found)
        self.searched += [(self.rounds, c.query, one) for c, one in found if c.query.strip()]
        results = [self._answered(call, selection) for call, selection in found]
        if self.calls or self.provider.asks_for_more(response):
            self.was_mixed = True
            self.provider.leave_open(response, results, self.scope)
            if self._restored and self.session:
                # Only the client continues this turn, and its next request needs every tool.
                self._settings.store.mark_expanded(self.session, self.offer.names)
            return None
        self._spent = summed(self._spent, response, self.provider.usage_keys)
        continued = self.provider.continued(self.request, response, results)
        if isinstance(self.provider, Native) and self.rounds >= self._settings.max_rounds:
            is_final = self.rounds > self._settings.max_rounds
            continued = self.provider.told(continued, NO_MORE, is_final)
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
                said = [self.provider.without_calls(r, self.search_name) for r in self._responses]
                names = self.shown.lasting(with_all=self.was_mixed)
                self._history.keep(self.provider.history(self.request), names, said)
            except Exception:  # the response is for the client all the same
                logger.exception("a turn could not be stored; its searches will not be put back")
            self._settings.on_end(self)

    def with_usage(self, response: Json) -> Json:
        """Add the usage of the forwards before it to a response's own."""
        spent = summed(self._spent, response, self.provider.usage_keys) if self._spent else {}
        return {**response, **spent} if spent else response

    @property
    def first(self) -> Sequence[str] | None:
        """The tools that fit the first message, if known; what was visible so stays so."""
        if self._new_first is not None:
            return self._new_first
        has_begun = any(map(is_of_model, self._emulated.history(self.asked)))
        return self._settings.store.visible(self.session, self._catalog, or_latest=has_begun)

    def _answered(self, call: Call, selection: Selection[Any]) -> SearchResult:
        """Show the tools of a selection, and say so to the model."""
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
        if self._dispatch.declares_finds and names and not self.is_native and not self._restored:
            self.show_first(names)
            names = ()
        return SearchResult(call, text, [self.offer.by_name[name] for name in names])

    def _with_every_tool(self, request: Json) -> Json:
        """Return the request with every tool up to the provider's maximum."""
        names = self.shown.every(self.user_query)
        if len(names) < len(self.offer.names):
            return self.provider.with_tools(request, self.offer.pick(names))
        if request is self.asked and len(self.offer) == len(self.offer.everything):
            return request
        return self.provider.with_tools(request, self.offer.everything)

    def _with_tools(self, request: Json) -> Json:
        if self.is_whole:
            return self._with_every_tool(request)
        return self.provider.offered(request, self.search_tool, self.shown.tools())

    @property
    def is_whole(self) -> bool:
        """Whether every tool is shown, because no more searches are answered."""
        return self.rounds >= self._settings.max_rounds and not self.is_native
