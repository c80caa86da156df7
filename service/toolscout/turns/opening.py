"""How the first request of a turn is opened, made anew for each form of it.

The model sees the tools that are pinned or fit the conversation's first message, and
a search tool. What earlier turns have found is in the history, and so is what fits the last message
of a user: as the result of a search at its end, so that whatever is before it stays in the cached
prompt.

    incoming = read_request(request, offer, settings, upstream)     what holds for every form
    opening = open_turn(incoming, offer, provider, first)           again after each refusal
"""

from collections.abc import Collection, Sequence

import msgspec

from toolscout.client.offer import Offer
from toolscout.common.lru import Lru
from toolscout.turns.config import DiscoveryConfig
from toolscout.turns.dispatch import Dispatch, ToolUse
from toolscout.turns.history import History, seed_of
from toolscout.turns.left_out import LeftOut, Upstream
from toolscout.turns.providers import Json, Provider, find_native, get_provider
from toolscout.turns.providers.calls import is_of_model
from toolscout.turns.providers.native import Native
from toolscout.turns.providers.provider import Choice
from toolscout.turns.refusals import Form
from toolscout.turns.session import SessionStore
from toolscout.turns.shown import QUERY_SCHEMA, Shown, choose_free_name, describe_search

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
    left_out: LeftOut = msgspec.field(default_factory=LeftOut)
    """Tools that are not sent, because the provider would refuse the request for them."""
    refusing: Lru[tuple[Form, Upstream], bool] = msgspec.field(
        default_factory=lambda: Lru(MAX_MODELS)
    )
    """Forms, and the models that have refused them, for all callers."""

    def takes(self, form: Form, upstream: Upstream) -> bool:
        """Whether no request in this form has been refused for its model."""
        refuser = find_refuser(upstream)
        return not self.refusing.get((form, refuser))


def find_refuser(upstream: Upstream) -> Upstream:
    """Return who refuses a form: a model, for all; where none is named, this conversation."""
    is_named = upstream.model or upstream.address
    return upstream._replace(scope="", session="") if is_named else upstream


class Incoming(msgspec.Struct, frozen=True):
    """A request as it came, and what holds for every form in which it goes out."""

    request: Json
    """Without a search of the caller's own."""
    provider: Provider
    """The interface, without deferred loading of its own."""
    offer: Offer
    """The tools of the request; without any, those that its session deferred last."""
    settings: TurnSettings
    upstream: Upstream
    """Where the request goes, whose it is, and in which conversation."""
    choice: Choice
    """What the request says about calls."""
    catalog: bytes
    """The digest of the tools."""
    is_stored: bool
    """Whether the provider stores the conversation, and so its searches."""
    keeps_tools: bool
    """Whether the provider keeps the tools of the request for those that go on from it."""
    has_begun: bool
    """Whether the model has said something, here or in a conversation that is stored."""
    native: Provider | None
    """The interface with deferred loading, if the model has that and has not refused it."""
    pins: Sequence[str]
    """Names of the tools that stay visible, in every form."""
    first: Sequence[str]
    """The tools that fit the first message, as far as an earlier turn has found them."""


def read_request(
    request: Json, offer: Offer, settings: TurnSettings, upstream: Upstream, visible: Sequence[str]
) -> Incoming:
    """Return what holds for every form of a request; `visible` names tools that stay so."""
    provider = get_provider(upstream.interface)
    native = find_native(provider, request) if settings.native else None
    if not settings.takes("native", upstream) or _prefers_words(provider, request, settings):
        native = None
    pins = [*offer.matching(settings.config.always_keep), *visible]
    if isinstance(native, Native):
        pins += native.undeferred(offer)
    is_stored = bool(provider.previous(request))
    has_begun = is_stored or any(map(is_of_model, provider.history(request)))
    catalog = offer.digest()
    first = settings.store.visible(upstream.session, catalog, or_latest=has_begun)
    return Incoming(
        request=request,
        provider=provider,
        offer=offer,
        settings=settings,
        upstream=upstream,
        choice=provider.choice(request),
        catalog=catalog,
        is_stored=is_stored,
        keeps_tools=provider.is_keeping_tools(request),
        has_begun=has_begun,
        native=native,
        pins=pins,
        first=first or (),
    )


def _prefers_words(provider: Provider, request: Json, settings: TurnSettings) -> bool:
    """Return whether what fits later messages is to be told in words, to be called by dispatch.

    A model that needs its thoughts takes no search that was made for it, and would have to search
    at each new question.
    """
    config = settings.config
    shows = config.ask_every_turn and config.dispatch != "off" and config.strategy == "hybrid-first"
    return shows and provider.needs_thoughts(request) and not provider.is_keeping_tools(request)


class Opening(msgspec.Struct):
    """A request in one form, before anything is forwarded in it."""

    provider: Provider
    """The interface in this form: natively one that loads deferred tools."""
    dispatch: Dispatch
    """The constant tool for calls of found ones, where the model cannot load them."""
    offer: Offer
    """The tools that the provider has not refused."""
    shown: Shown
    """Which of them the model sees."""
    search_name: str
    search_tool: Json
    """The definition of the search tool, in the provider's shape."""
    history: History
    resumed: Json
    """The request with the searches of earlier turns."""
    known: Sequence[str] = ()
    """The tools that earlier turns have found."""
    loaded: Collection[str] = ()
    """Those that the history defines."""
    to_declare: Sequence[str] = ()
    """Those that are declared beside the visible ones."""
    to_load: Sequence[str] = ()
    """Those that a search brings which is added to the history."""
    has_additions: bool = False
    """Whether the request holds anything of earlier turns."""

    @property
    def is_native(self) -> bool:
        """Whether the provider loads the deferred tools by itself."""
        return isinstance(self.provider, Native)

    @property
    def tool_use(self) -> ToolUse:
        """How the model gets its tools and calls them."""
        return self.provider if self.is_native else self.dispatch

    def choose_declared(self, names: Sequence[str]) -> list[str]:
        """Return which of later finds are declared, though a constant tool could call them."""
        dispatches = self.dispatch.is_active and not self.is_native
        return self.dispatch.choose_declared(names) if dispatches else []

    def show_first(self, names: Sequence[str]) -> None:
        """Declare a conversation's first finds, in this and in all later requests."""
        self.shown.keep(names, is_pinned=False)
        if names:
            self.dispatch.begin()


def open_turn(
    incoming: Incoming, offer: Offer, provider: Provider, first: Sequence[str]
) -> Opening:
    """Return the opening of a request in one form.

    Args:
        incoming: the request.
        offer: the tools that may be sent.
        provider: the interface, with deferred loading of its own or without.
        first: the tools that fit the conversation's first message, as far as they are known.
    """
    config = incoming.settings.config
    dispatch = Dispatch(incoming.provider, incoming.offer, config.dispatch)
    name = provider.search_name or choose_free_name(config.search_tool_name, offer.names)
    dispatch.searched_as = name
    about = offer.once("description", lambda: describe_search(offer.names))
    tool = provider.function(name, about, QUERY_SCHEMA)
    form = type(provider if isinstance(provider, Native) else dispatch).__name__
    history = _read_history(incoming, form)
    resumed = incoming.request
    if history.is_changed:  # else the caller's own bytes stay as they are
        resumed = provider.with_history(resumed, history.whole)
    limit = incoming.provider.max_tools
    if limit:
        limit -= 1 if config.dispatch == "off" else 2
    shown = Shown(offer, limit)
    opening = Opening(provider, dispatch, offer, shown, name, tool, history, resumed)
    shown.keep(incoming.pins)
    opening.show_first(incoming.first)
    if first:
        dispatch.begin()
    _add_known(opening, incoming)
    opening.show_first(first)  # what this turn has found takes no room of what has to be there
    return opening


def _read_history(incoming: Incoming, form: str) -> History:
    """Read the history of a request, with what turns of this form have added to it."""
    if incoming.is_stored or incoming.keeps_tools:
        form = ""
    session = incoming.upstream.session
    seed = seed_of(form, session, incoming.catalog, incoming.request)
    messages = incoming.provider.history(incoming.request)
    return History(messages, incoming.settings.store, session, seed, incoming.provider.add_words)


def _add_known(opening: Opening, incoming: Incoming) -> None:
    """Decide how the model gets the tools that it knows, and those that it needs."""
    provider = opening.provider
    history = opening.history
    # Where messages were changed or other tools offered, the session is what is left.
    store = incoming.settings.store
    earlier = history.names if history.is_known else store.expanded(incoming.upstream.session)
    opening.has_additions = bool(earlier or history.searches)
    opening.known = [*earlier, *provider.recent(incoming.request)]
    is_told = incoming.is_stored and (opening.is_native or opening.dispatch.is_active)
    opening.loaded = opening.known if is_told else opening.tool_use.find_referred(history.searches)
    unloaded = [name for name in opening.known if name not in opening.loaded]
    choice = incoming.choice
    named = (*incoming.offer.endings(choice.must_call), *choice.names)
    needed = [name for name in named if name not in opening.loaded]
    can_load = opening.is_native and not incoming.is_stored
    if can_load and provider.can_take_made_up_call(opening.resumed):
        opening.to_load = [*unloaded, *needed]
        if isinstance(provider, Native) and not provider.declares_hidden:
            opening.shown.keep(choice.names)
    else:
        opening.to_declare = unloaded
        opening.shown.keep(needed)
