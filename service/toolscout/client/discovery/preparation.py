"""Preparing a request: which tools are deferred, and whether anything is done at all."""

import logging
from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import Any, get_args

from toolscout.client.discovery.config import ApiConfig, DiscoveryConfig
from toolscout.client.discovery.session import SessionStore, hashed
from toolscout.client.discovery.strategies import relevance, search
from toolscout.client.discovery.turn import MAX_ROUNDS, Order, Turn
from toolscout.client.observe.events import (
    Stage,
    TurnEvent,
    TurnObserver,
    checked_observers,
    log_turn,
    notify,
)
from toolscout.client.offer import Offer
from toolscout.client.providers import Call, Json, Provider, provider_named
from toolscout.client.providers.stream import STREAMS
from toolscout.client.selector.rollout import Rollout
from toolscout.client.selector.selection import Selection
from toolscout.client.selector.settings import SelectorBase
from toolscout.errors import InvalidArgument

logger = logging.getLogger("toolscout.client")


class Preparation:
    """Everything of the flow but forwarding and asking.

    Args:
        config: strategy and limits, in the proxy's own terms; or the URL of the service, which is
            strategy `api` with the defaults.
        order: where found tools go: `append` (default), `rank` or `catalog`.
        defer_above: requests with at most this many tools are forwarded as they are.
        max_rounds: searches in one turn, at most.
        store: remembers what each session has found.
        turn_observers: called with a `TurnEvent` when tools are filtered or deferred and when a
            turn is over; None is nobody.
        selector_options: further arguments of the selector: rollout, fallback, redact, observers …
    """

    def __init__(
        self,
        config: DiscoveryConfig | str,
        *,
        order: Order = "append",
        defer_above: int = 0,
        max_rounds: int = MAX_ROUNDS,
        store: SessionStore | None = None,
        rollout: str | Rollout = "on",
        turn_observers: Sequence[TurnObserver] | None = (log_turn,),
        **selector_options: Any,
    ) -> None:
        if isinstance(config, str):
            config = DiscoveryConfig(enabled=True, strategy="api", api=ApiConfig(config))
        if not isinstance(config, DiscoveryConfig):
            raise InvalidArgument.of("config", "a URL or a DiscoveryConfig", config)
        if order not in get_args(Order):
            raise InvalidArgument(f"order: expected rank, catalog or append, got {order!r}")
        self.config = config
        self.store = SessionStore() if store is None else store
        self._order = order
        self._defer_above = defer_above
        self._max_rounds = max_rounds
        self._turn_observers = checked_observers("turn_observers", turn_observers)
        self._rollout = Rollout.parse(rollout)
        # A percentage is decided here, for the whole turn; looking on is the selector's.
        mode = self._rollout if self._rollout.mode in ("dark", "shadow") else Rollout("on")
        asks = config.strategy == "api"
        if "permit" in selector_options:
            # After the last search a turn has every tool of its request again.
            raise InvalidArgument("permit: filter the tools of the request before the flow begins")
        self._prepare(
            {
                "endpoint": config.api.endpoint if asks else None,
                "api_key": config.api.api_key or None,
                "timeout": config.api.timeout,
                "rollout": mode if asks else Rollout("off"),
                **selector_options,
            }
        )

    selector: SelectorBase

    def _prepare(self, settings: dict[str, Any]) -> None:
        """Make the selector of one kind of flow."""

    def begin(
        self, request: Json, provider: str = "openai", session: str | None = None, scope: str = ""
    ) -> Turn | Json:
        """Prepare a request: a turn with deferred tools, or what to forward as the only one.

        Whatever is odd about a request, it is forwarded as it came.

        Raises:
            InvalidArgument: there is no provider of that name.
        """
        shapes = provider_named(provider)
        try:
            return self._begin(request, shapes, session, scope)
        except Exception:
            logger.exception("a request could not be prepared and is forwarded as it came")
            return request

    def begin_stream(
        self, request: Json, provider: str, session: str | None, scope: str
    ) -> Turn | Json:
        """As `begin`; where streams are not understood, nothing may be deferred."""
        if provider in STREAMS or self.config.strategy == "relevance":
            return self.begin(request, provider, session, scope)
        provider_named(provider)
        return request

    def _begin(
        self, request: Json, provider: Provider, session: str | None, scope: str
    ) -> Turn | Json:
        strategy = self.config.strategy
        tools = provider.tools(request)
        if strategy == "passthrough" or not tools or provider.forced(request) == "":
            return request
        name = session if session is not None else session_of(request, provider, scope)
        if not self._rollout.includes(name):
            return request
        offer = Offer(tools)
        if len(offer.names) <= self._defer_above or not offer.names:
            return request
        if strategy == "relevance":
            return self._filtered(request, provider, offer, name)
        turn = Turn(
            request,
            provider,
            offer,
            name,
            self.store,
            self.config.search_tool_name,
            self._order,
            self._max_rounds,
            partial(self._report_turn, provider.name),
        )
        self._report("deferred", provider.name, name, len(offer.names), turn.shown)
        return turn

    def _filtered(self, request: Json, provider: Provider, offer: Offer, session: str) -> Json:
        config = self.config
        forced = provider.forced(request)
        filtered = relevance.filter_tools(
            provider.query(request),
            offer.everything,
            min_tools=config.min_tools,
            max_tools=config.max_tools,
            target_ratio=config.target_ratio,
            always_keep=(*config.always_keep, forced) if forced else config.always_keep,
            recent=provider.recent(request),
            expanded=self.store.expanded(session),
        )
        if session:
            self.store.store_deferred(session, filtered.deferred)
        if not filtered.deferred:
            return request
        kept = set(filtered.kept)
        names = [name for name in offer.names if name in kept]
        if self._order == "rank":
            names = list(filtered.kept)
        self._report("filtered", provider.name, session, len(offer.names), len(names))
        return provider.with_tools(request, offer.pick(names))

    def _report_turn(self, provider: str, turn: Turn) -> None:
        offered, searches = len(turn.offer.names), turn.search_count
        self._report("finished", provider, turn.session, offered, turn.shown, searches, turn.rounds)

    def _report(
        self,
        stage: Stage,
        provider: str,
        session: str,
        offered: int,
        shown: int,
        searches: int = 0,
        rounds: int = 0,
    ) -> None:
        if self._turn_observers:
            strategy = self.config.strategy
            event = TurnEvent(stage, strategy, provider, session, offered, shown, searches, rounds)
            notify(self._turn_observers, event, "turns")

    def looks_on(self, request: Json, provider: str) -> tuple[str, Sequence[Any]] | None:
        """What to ask about when the rollout only looks on; None when it does not, or cannot.

        Raises:
            InvalidArgument: there is no provider of that name.
        """
        shapes = provider_named(provider)
        if self._rollout.mode not in ("dark", "shadow") or self.config.strategy != "api":
            return None
        try:
            tools, query = shapes.tools(request), shapes.query(request)
            Offer(tools)  # what is no tool is the request's own business
        except Exception:
            logger.warning("a request could not be read; the service is not asked about it")
            return None
        return (query, tools) if tools and query else None

    def local_search(self, call: Call, turn: Turn) -> Selection:
        """Strategy `tool-search`: what the local search finds; nothing is a fact, not a failure."""
        started = perf_counter()
        found = search.search(
            call.query,
            turn.offer.everything,
            self.config.max_search_results,
            self.config.always_keep,
        )
        took = (perf_counter() - started) * 1_000
        selection = Selection(found, list(turn.offer.pick(found)), latency_ms=took)
        self.selector.telemetry.report(
            selection, call.query, turn.session, len(turn.offer.names), turn.rounds + 1
        )
        return selection


def session_of(request: Json, provider: Provider, scope: str = "") -> str:
    """The id of a request's conversation; empty when it has no user message."""
    first = provider.first_message(request)
    return "" if first is None else hashed(first, scope)
