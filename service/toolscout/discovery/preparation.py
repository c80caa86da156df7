"""Prepare a request: decide whether tools are deferred, and which."""

import logging
import os
from collections.abc import Callable, Collection, Sequence
from functools import partial
from time import perf_counter
from typing import Any

from toolscout.client import events
from toolscout.client.known import offer_of
from toolscout.client.log import logger
from toolscout.client.offer import Offer
from toolscout.client.rollout import Rollout
from toolscout.client.selection import Selection
from toolscout.client.selector import AsyncSelector, Selector
from toolscout.client.settings import check_options
from toolscout.discovery import local
from toolscout.discovery.config import ApiConfig, DiscoveryConfig, Dispatching
from toolscout.discovery.left_out import Upstream
from toolscout.discovery.pieces import Places
from toolscout.discovery.providers import Json, Provider, provider_named
from toolscout.discovery.providers.fields import mapping
from toolscout.discovery.providers.native import MARK, is_deferring, written_out
from toolscout.discovery.reporter import reporter_of
from toolscout.discovery.session import SessionStore, canonical, hashed
from toolscout.discovery.settings import MAX_ROUNDS, TurnSettings
from toolscout.discovery.turn import Turn
from toolscout.errors import InvalidArgument, check_count, check_switches
from toolscout.tools.summary import definition_tokens

ASKING = ("api", "hybrid-first")
"""Strategies that ask the service."""

TOOL_KEYS = ("tools", "toolConfig", "functions")
"""Keys under which a request has its tools."""

USER_KEYS = ("user", "safety_identifier", "prompt_cache_key")
"""Keys with which a request names its user or its conversation."""

KEPT_BY_THREADS = (
    "the provider keeps the tools of a thread, and this model loads none later: such requests go "
    "out with every tool"
)

SEARCHED_AT_ONCE = 8
"""Requests of one event loop that are prepared, or searched for, at a time. The time of a search
begins with it: of 200 at once most had no connection before it was over."""


class Preparation:
    """Everything of a flow but forwarding and searching.

    Args:
        config: strategy and limits, in the proxy's own terms; or the URL of the service, which is
            strategy `hybrid-first` with the defaults.
        always_keep: names, patterns (`github__*`) or servers (`server:github`) of tools that stay
            visible, in addition to those of the configuration.
        top_k: most tools that a search brings; by default as in the configuration, 5.
        defer_above: requests with at most this many tools are forwarded as they are; by default as
            in the configuration, 0.
        defer_above_tokens: the same by the estimated tokens of all definitions.
        max_rounds: searches in one turn, at most.
        store: remembers what each session has found.
        native: use the provider's own deferred loading where the model has it.
        dispatch: call found tools through one constant tool where the model cannot do that, so that
            the tools of a request stay the same: `on`, `off` or, from the second find of a
            conversation on, `auto`. By default as in the configuration.
        ask_every_turn: ask for tools at each message of a user that may need some, and show them
            before the model answers; else at a conversation's first message alone. By default as in
            the configuration, on.
        restore_on_no_match: bring all tools back when nothing fits a search, as the proxy does;
            else the model is told so, and what there is. By default as in the configuration: a file
            that does not say otherwise does the former, a URL the latter.
        remember_tools: search the tools that a session deferred last where a later request of it
            leaves `tools` out.
        turn_observers: called with a `TurnEvent` when tools are filtered or deferred and when a
            turn is over; None for no observers.
        learn: report to the service which tools were called after a search.
        selector_options: further arguments of the selector: rollout, fallback, redact, observers …
    """

    def __init__(  # noqa: PLR0913  # options of the public class
        self,
        config: DiscoveryConfig | str,
        *,
        always_keep: Collection[str] = (),
        top_k: int | None = None,
        defer_above: int | None = None,
        defer_above_tokens: int | None = None,
        max_rounds: int = MAX_ROUNDS,
        store: SessionStore | None = None,
        rollout: str | Rollout | None = None,
        turn_observers: Sequence[events.TurnObserver] | None = (events.log_turn,),
        native: bool = True,
        dispatch: Dispatching | None = None,
        ask_every_turn: bool | None = None,
        restore_on_no_match: bool | None = None,
        remember_tools: bool = True,
        learn: bool = True,
        **selector_options: Any,
    ) -> None:
        check_options(self, selector_options, Preparation.__init__, self._selector.__init__)
        if isinstance(config, str):
            config = DiscoveryConfig(enabled=True, strategy="hybrid-first", api=ApiConfig(config))
        if not isinstance(config, DiscoveryConfig):
            raise InvalidArgument.of("config", "a URL or a DiscoveryConfig", config)
        if config.strategy == "tool-search":
            local.check_regex()
        check_switches(native=native, remember_tools=remember_tools, learn=learn)
        check_count("max_rounds", max_rounds, 1)
        own = {"restore_on_no_match": restore_on_no_match, "ask_every_turn": ask_every_turn}
        config = config.with_arguments(
            always_keep,
            top_k,
            defer_above=defer_above,
            defer_above_tokens=defer_above_tokens,
            dispatch=dispatch,
            **own,
        )
        self.config = config
        self.store = SessionStore() if store is None else store
        self._told_of_threads = False
        self._places = Places(SEARCHED_AT_ONCE)
        on_end = partial(self._observe, "finished")
        self._turn_settings = TurnSettings(
            config, self.store, max_rounds, native, remember_tools, on_end
        )
        self._turn_observers = events.checked_observers("turn_observers", turn_observers)
        self._rollout = Rollout.parse(config.rollout if rollout is None else rollout)
        # A percentage is decided here, for the whole turn; the selector handles dark and shadow.
        asks = config.strategy in ASKING
        self._only_asks = asks and self._rollout.mode in ("dark", "shadow")
        if "permit" in selector_options:
            # The forward after the last search has every tool of the request again.
            raise InvalidArgument("permit: filter the tools of the request before the flow begins")
        settings: dict[str, Any] = {
            "endpoint": config.api.endpoint if asks else None,
            "api_key": config.api.api_key or None,
            "timeout": config.api.timeout,
            "rollout": self._rollout if self._only_asks else Rollout("on" if asks else "off"),
        }
        self.selector = self._selector(**settings | selector_options)
        # A query that no event may hold is not reported either.
        learn = learn and selector_options.get("log_query") != "off"
        self.reporter = reporter_of(self.selector) if learn and asks else None
        """Reports to the service; None if nothing is to be reported."""

    selector: AsyncSelector | Selector
    _selector: type[AsyncSelector] | type[Selector]
    """The selector of one kind of flow."""
    waits = False
    """Whether there is an event loop, which nothing may hold up."""

    def _begun(
        self, request: Json, upstream: Upstream, session: str | None, streams: bool
    ) -> Turn | Json:
        """Return a turn with deferred tools, or the body to forward once.

        A malformed request is forwarded as it came, and so is one for a stream that nothing reads.

        Raises:
            InvalidArgument: there is no provider of that name.
        """
        provider = provider_named(upstream.interface)
        if streams and provider.stream is None and self.config.strategy != "relevance":
            return request
        try:
            model = request.get("model") or request.get("modelId")
            upstream = upstream._replace(model=str(model or ""))
            return self._begin(provider.resumed(request, upstream.scope), session, upstream)
        except Exception:
            logger.warning("a request could not be prepared and is forwarded as it came")
            return request

    def _begin(self, request: Json, session: str | None, upstream: Upstream) -> Turn | Json:
        strategy, scope = self.config.strategy, upstream.scope
        provider = provider_named(upstream.interface)
        tools = provider.tools(request)
        if strategy == "passthrough" or provider.passes(request):
            return request
        previous = provider.previous(request)
        if session is None:
            session = self.store.session_of(previous, scope) or session_of(request, provider, scope)
        if not tools and strategy != "relevance" and request.keys().isdisjoint(TOOL_KEYS):
            tools = self.store.deferred_tools(session, provider.name)
        # A result that goes back into a conversation that only the provider has names no session,
        # so nobody knows which tools it has found.
        is_unknown = not session and bool(previous)
        side = (
            session or os.urandom(8).hex()
        )  # without a session each request has a side of its own
        is_used = self._only_asks or self._rollout.includes(side)
        written = written_out(provider, request, tools)
        offer = offer_of(written.tools)
        if not is_used or offer.once(MARK, lambda: any(map(is_deferring, written.tools))):
            if is_used:
                logger.info("the request searches deferred tools by itself and is left alone")
            return request
        request, tools, visible = written
        if offer.odd:
            logger.warning("tools%s: of no known shape, and left out", [*offer.odd])
            offer = Offer([tool for n, tool in enumerate(tools) if n not in offer.odd])
        upstream = upstream._replace(session=session)
        forced = provider.choice(request).names
        every = offer
        offer = self._turn_settings.left_out.leave_out(every, upstream, forced)
        if offer is not every and offer.names:  # else the refusal tells more than no tool
            request = provider.with_tools(request, offer.everything)
        if self._is_small(offer, visible):
            return request
        if strategy == "relevance":
            is_kept = is_unknown or provider.keeps_tools(request)
            return request if is_kept else self._filtered(request, provider, offer, session)
        turn = Turn(request, offer, self._turn_settings, upstream, visible)
        if provider.keeps_tools(request) and not turn.is_native:
            self._tell_of_threads()
        elif not is_unknown or (turn.is_native and not turn.shown.has_room_for_all):
            return turn
        return request if provider.keeps_tools(request) else turn.original

    def _is_small(self, offer: Offer, visible: Sequence[str]) -> bool:
        """Whether the tools are so few, or their definitions so short, that none is deferred."""
        most, tokens = self.config.defer_above or 0, self.config.defer_above_tokens or 0
        is_short = tokens > 0 and _tokens(offer) <= tokens
        return is_short or len({*offer.names} - {*visible}) <= most

    def _tell_of_threads(self) -> None:
        if not self._told_of_threads:
            self._told_of_threads = True
            logger.warning(KEPT_BY_THREADS)

    def _filtered(self, request: Json, provider: Provider, offer: Offer, session: str) -> Json:
        config = self.config
        choice = provider.choice(request)
        pins = {*offer.matching(config.always_keep), *choice.names} & {*offer.names}
        filtered, deferred = local.filter_tools(
            provider.query(request),
            offer,
            min_tools=config.min_tools,
            # As in a search, what is visible takes no place of what is found.
            max_tools=config.max_tools + len(pins),
            target_ratio=config.target_ratio,
            always_keep=pins,
            recent=provider.recent(request),
            expanded=self.store.expanded(session),
        )
        if not deferred:
            return request
        kept = dict.fromkeys((*filtered, *offer.endings(choice.must_call)))
        names = [name for name in offer.names if name in kept]
        shown = [offer.by_name[name] for name in names]
        if self._is_observed:
            observing(self._report, "filtered", provider.name, session, offer, shown)
        return provider.with_tools(request, offer.pick(names))

    def _observe(self, stage: events.Stage, turn: Turn) -> None:
        observing(self._report_turn, stage, turn)

    def _report_turn(self, stage: events.Stage, turn: Turn) -> None:
        called, is_over = [call.name for call in turn.calls], stage == "finished"
        if is_over and self.reporter is not None:
            self.reporter.observe(turn)
        if not self._is_observed:
            return
        visible = _visible(turn)
        calls = turn.shown.places(called, Offer(visible).names) if is_over else (0, 0, 0)
        degraded = sum(found.degraded is not None for _, _, found in turn.searched)
        counts = (turn.search_count, turn.rounds, *calls, degraded)
        self._report(stage, turn.provider.name, turn.session, turn.offer, visible, *counts)

    @property
    def _is_observed(self) -> bool:
        """Whether anybody gets the events: a log that leaves them out does not."""
        silent = () if logger.isEnabledFor(logging.INFO) else (events.log_turn,)
        return self._turn_observers not in ((), silent)

    def _report(
        self,
        stage: events.Stage,
        provider: str,
        session: str,
        offer: Offer,
        shown: list[Any],
        *counts: int,
    ) -> None:
        tokens = _tokens(offer), definition_tokens(shown)
        about = (self.config.strategy, provider, session, len(offer.names), len(shown), *tokens)
        event = events.TurnEvent(stage, *about, *counts)
        events.notify(self._turn_observers, event, "turns")

    def _local_search(
        self, pattern: str, tools: Offer, top_k: int, session: str, loop: int
    ) -> Selection[Any]:
        """Search locally (strategy `tool-search`); an empty result is no failure."""
        started = perf_counter()
        found = local.search(pattern, tools, top_k)
        took = (perf_counter() - started) * 1_000
        selection = Selection(found, list(tools.pick(found)), latency_ms=took)
        self.selector.telemetry.report(selection, pattern, session, len(tools.names), loop)
        return selection


def _tokens(offer: Offer) -> int:
    """Return how many tokens the definitions of all tools have."""
    return offer.once("tokens", lambda: definition_tokens(offer.by_name.values()))


def _visible(turn: Turn) -> list[Any]:
    """Return the tools that the model sees in the current request, the search tool among them."""
    names = turn.shown.every(turn.user_query) if turn.is_whole else turn.shown.names
    tools = [turn.offer.by_name[name] for name in names]
    return tools if turn.is_whole else [turn.search_tool, *tools]


def observing(observe: Callable[..., None], *about: Any) -> None:
    """Call what only observes a turn; where it fails, that is logged, and changes no answer.

    A line without a traceback, because a caller may cause it with each request.
    """
    try:
        observe(*about)
    except Exception as error:
        logger.warning("a turn could not be observed (%s)", type(error).__name__)
        logger.debug("it could not be observed", exc_info=True)


def session_of(request: Json, provider: Provider, scope: str = "") -> str:
    """Return the id of a request's conversation; empty without a user message.

    What a request says about its user belongs to it.
    """
    named = [request.get(key) for key in USER_KEYS]
    named.append(mapping(request.get("metadata")).get("user_id"))
    user = "\n".join(name for name in named if isinstance(name, str))
    first = provider.first_message(request)
    return "" if first is None else hashed(canonical(first), scope + user)
