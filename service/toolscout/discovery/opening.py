"""A request whose tools are deferred, as it is first written for the model.

The model sees the tools that are pinned or fit the conversation's first message, and
a search tool. What earlier turns have found is in the history, and so is what fits the last message
of a user: as the result of a search at its end, so that whatever is before it stays in the cached
prompt.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from toolscout.client.log import logger
from toolscout.client.offer import Offer
from toolscout.client.selection import Selection
from toolscout.common.lru import Lru
from toolscout.discovery.config import DiscoveryConfig
from toolscout.discovery.dispatch import Dispatch
from toolscout.discovery.history import History, seed_of
from toolscout.discovery.left_out import LeftOut, Refused, Upstream
from toolscout.discovery.local import asks_for_something
from toolscout.discovery.providers import Call, Json, Provider, native_of, provider_named
from toolscout.discovery.providers.calls import is_of_model
from toolscout.discovery.providers.native import Native
from toolscout.discovery.providers.provider import QUERY_SCHEMA, SearchResult
from toolscout.discovery.refusals import WARNINGS, Form
from toolscout.discovery.session import SessionStore
from toolscout.discovery.shown import Shown, description, free_name, result_text
from toolscout.tools.shapes import read_texts

MAX_ROUNDS = 5

MAX_MODELS = 1_000
"""Models in memory that have refused a form."""


class TurnSettings(msgspec.Struct, frozen=True):
    """What every turn of a flow is made with."""

    config: DiscoveryConfig
    store: SessionStore
    max_rounds: int
    native: bool
    """Whether the provider's own deferred loading is used where the model has it."""
    remember_tools: bool
    """Whether a session's deferred tools are kept for requests that leave theirs out."""
    on_end: Callable[[Any], None]
    """Called once with a turn that has ended."""
    left_out: LeftOut = msgspec.field(default_factory=LeftOut)
    """Tools that are not sent, because the provider would refuse the request for them."""
    refusing: Lru[tuple[Form, Upstream], bool] = msgspec.field(
        default_factory=lambda: Lru(MAX_MODELS)
    )
    """Forms, and the models that have refused them, for all callers."""


class Opening:
    """A request with deferred tools, before anything is forwarded.

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
        self.session = upstream.session
        self.offer = offer
        self.scope = upstream.scope
        self._upstream = upstream
        self._settings = settings
        config = self._config = settings.config
        self.rounds = 0
        """Forwards after a search."""
        self.asked = request
        """The request as it came."""
        self._request: Json | None = None
        self._new_first: Sequence[str] | None = None  # unless it is known from before
        self._fitting: Sequence[str] = ()
        """What fits the last message of a conversation that has begun."""
        provider = provider_named(upstream.interface)
        self._dispatch = Dispatch(provider, offer, config.dispatch)
        self._emulated = provider = cast("Provider", self._dispatch)
        native = native_of(provider, request) if settings.native else None
        self.provider = (self._takes("native") and native) or provider
        self._is_stored = bool(provider.previous(request))
        """Whether the provider stores the conversation, and so its searches."""
        self._keeps_tools = provider.keeps_tools(request)
        self._has_begun = self._is_stored or any(map(is_of_model, provider.history(request)))
        """Whether the model has said something, here or in a conversation that is stored."""
        self.choice = choice = provider.choice(request)
        self.refused = Refused(settings.left_out, upstream, choice.names)
        limit = provider.max_tools and provider.max_tools - (1 if config.dispatch == "off" else 2)
        self.shown = Shown(offer, limit)
        self._needed = (*offer.endings(choice.must_call), *choice.names)
        self._catalog = offer.digest()
        self.shown.keep((*offer.matching(config.always_keep), *visible))
        if isinstance(self.provider, Native):
            self.shown.keep(self.provider.undeferred(offer))
        if self.first:
            self.show_first(self.first)
        self._begin()

    def _begin(self) -> None:
        """Read the history in the form of the provider, and write the first request."""
        provider = self.provider
        names = self.offer.names
        store = self._settings.store
        self.search_name = provider.search_name or free_name(self._config.search_tool_name, names)
        self._dispatch.searched_as = self.search_name
        about = self.offer.once("description", lambda: description(names))
        self.search_tool = provider.function(self.search_name, about, QUERY_SCHEMA)
        request = self.asked
        form = "" if self._is_stored or self._keeps_tools else type(provider).__name__
        seed = seed_of(form, self.session, self._catalog, request)
        self._history = history = History(provider.history(request), store, seed)
        if history.searches:  # else the caller's own bytes stay as they are
            request = provider.with_history(request, history.whole)
        # Where messages were changed or other tools offered, the session is what is left.
        earlier = history.names if history.is_known else store.expanded(self.session)
        self._known = earlier_names = [*earlier, *provider.recent(self.asked)]
        is_told = self._is_stored and (self.is_native or self._dispatch.is_active)
        loaded = earlier_names if is_told else provider.referred(history.searches)
        unloaded = [name for name in earlier_names if name not in loaded]
        self._has_additions = bool(earlier or history.searches)
        needed = [name for name in self._needed if name not in loaded]
        self._loaded = loaded
        if self.is_native and not self._is_stored and provider.takes_made_up_call(request):
            self._to_declare = []
            self._to_load = [*unloaded, *needed]
            if isinstance(provider, Native) and not provider.declares_hidden:
                self.shown.keep(self.choice.names)
        else:
            self._to_declare = unloaded
            self._to_load = []
            self.shown.keep(needed)
        self._resumed = request
        self._request = None

    @property
    def request(self) -> Json:
        """The next request to forward; the first is made when it is asked for."""
        if self._request is None:
            self.shown.set_known(self._to_declare)
            there = {*self._loaded, *self._to_declare}
            fitting = [name for name in self._fitting if name not in there]
            tools = self.shown.load([*self._to_load, *fitting])
            self._request = self._with_tools(self._resumed)
            if tools and (self.is_native or self._dispatch.is_active):
                self._request = self._with_search(self._request, tools)
        return self._request

    def _with_search(self, request: Json, tools: Sequence[Any]) -> Json:
        """Add a search that found these, as if the model had made it: what is before it stays."""
        provider = self.provider
        names = [read_texts(tool)[0] for tool in tools]
        id_ = provider.loading_id.format(len(provider.history(request)))
        call = Call(id_, self.search_name, {"query": " ".join(names)})
        text = result_text(Selection(names, []), names, len(names), self.offer)
        answered = SearchResult(call, text, tools)
        return provider.continued(request, provider.searching(call), [answered])

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
        self.shown.set_known(self._known)
        _, visible, declared, _ = self.shown.tools()
        tools = [*visible, *declared]
        return self._emulated.with_tools(self.asked, tools) if tools else self.original

    def show_first(self, names: Sequence[str]) -> None:
        """Declare a conversation's first finds, in this and in all later requests."""
        self._new_first = list(dict.fromkeys([*(self._new_first or ()), *names]))
        self.shown.keep(names, is_pinned=False)
        if names:
            self._dispatch.begin()

    @property
    def first_query(self) -> str:
        """What to search for before the first forward; empty if nothing is."""
        asks = self._config.strategy == "hybrid-first" or not self.can_search
        always = self._config.ask_every_turn
        if not asks or not (self.first is None or (always and self._asks_again)):
            return ""
        return query if (query := self.user_query).strip() else ""

    @property
    def _asks_again(self) -> bool:
        """Whether a later message of the user asks for something, and an answer can be shown."""
        provider = self.provider
        asked = self.asked
        if self.is_native or self._dispatch.is_active:
            can_show = self._takes("made_up") and provider.takes_made_up_call(asked)
        else:
            can_show = self.can_search
        is_later = self._has_begun and provider.ends_with_user(asked)
        is_asking = is_later and asks_for_something(provider.last_words(asked))
        return can_show and is_asking and not self._keeps_tools

    @property
    def first(self) -> Sequence[str] | None:
        """The tools that fit the first message, if known; what was visible so stays so."""
        if self._new_first is not None:
            return self._new_first
        store = self._settings.store
        return store.visible(self.session, self._catalog, or_latest=self._has_begun)

    def _takes(self, form: Form) -> bool:
        """Whether nobody's request in this form was refused for its model."""
        return not self._settings.refusing.get((form, self._refusing))

    def refuse(self, form: Form) -> None:
        """Use this form no more for its model, as long as the process lives."""
        self._settings.refusing.put((form, self._refusing), True)
        logger.warning(WARNINGS[form], self._upstream.model)

    @property
    def _refusing(self) -> Upstream:
        """Who refuses a form: a model, for all callers; where none is named, this conversation."""
        upstream = self._upstream
        is_named = upstream.model or upstream.address
        return upstream._replace(scope="", session="") if is_named else upstream

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
            self._dispatch.searched_as = ""  # no more searches are answered, nor calls judged
            return self._with_every_tool(request)
        return self.provider.offered(request, self.search_tool, self.shown.tools())

    @property
    def is_whole(self) -> bool:
        """Whether every tool is shown, because no more searches are answered."""
        return self.rounds >= self._settings.max_rounds and not self.is_native
