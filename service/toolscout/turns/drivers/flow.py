"""The flow of turns: forward and search until a response is for the client.

It is one coroutine, or one asynchronous generator for streams, around `forward` and searches.
The blocking class runs it in the caller's thread without an event loop; there it never waits.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from functools import partial
from typing import Any

from toolscout.client import events
from toolscout.client.rollout import Rollout
from toolscout.client.selection import Reason, Selection
from toolscout.client.selector import AsyncSelector, Selector
from toolscout.client.settings import check_options
from toolscout.errors import InvalidArgument, check_count, check_switches
from toolscout.turns import local
from toolscout.turns.config import ApiConfig, DiscoveryConfig, Dispatching
from toolscout.turns.drivers.loops import (
    AsyncForward,
    AsyncOpen,
    Body,
    complete,
    end_turn,
    perform_report,
    stream,
)
from toolscout.turns.drivers.pieces import Places, await_result, close
from toolscout.turns.events import (
    Forward,
    Release,
    Request,
    Search,
    Searched,
)
from toolscout.turns.left_out import Upstream
from toolscout.turns.lessons.observing import TurnObservers
from toolscout.turns.lessons.reporter import make_reporter
from toolscout.turns.opening import MAX_ROUNDS, TurnSettings
from toolscout.turns.preparation import Preparation
from toolscout.turns.providers import Call, Json, ProviderName
from toolscout.turns.session import SessionStore
from toolscout.turns.shown import Found
from toolscout.turns.state import TurnState
from toolscout.turns.turn import Turn

ASKING = ("api", "hybrid-first")
"""Strategies that ask the service."""

SEARCHED_AT_ONCE = 8
"""Concurrent preparations per event loop, or of all threads. The timeout of a search starts when it
runs: of 200 at once, most timed out before they had a connection."""

NO_QUERY: Selection[Any] = Selection([], [], reason=Reason.EMPTY_QUERY)
"""The result of a search with an empty query."""


class Flow:
    """The coroutine and the generator that both kinds of code run.

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
            conversation on, `auto`. By default as in the configuration: a file that does not say
            otherwise declares every find (`off`), a URL means `auto`.
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
        check_options(self, selector_options, Flow.__init__, self._selector.__init__)
        if isinstance(config, str):
            config = DiscoveryConfig(enabled=True, strategy="hybrid-first", api=ApiConfig(config))
        if not isinstance(config, DiscoveryConfig):
            raise InvalidArgument.of("config", "a URL or a DiscoveryConfig", config)
        if config.strategy == "tool-search":
            local.check_regex()
        check_switches(native=native, remember_tools=remember_tools, learn=learn)
        check_count("max_rounds", max_rounds, 1)
        self.config = config = config.with_arguments(
            always_keep,
            top_k,
            defer_above=defer_above,
            defer_above_tokens=defer_above_tokens,
            dispatch=dispatch,
            ask_every_turn=ask_every_turn,
            restore_on_no_match=restore_on_no_match,
        )
        observers = events.check_observers("turn_observers", turn_observers)
        parsed = Rollout.parse(config.rollout if rollout is None else rollout)
        # A percentage is decided here, for the whole turn; the selector handles dark and shadow.
        asks = config.strategy in ASKING
        self._only_asks = asks and parsed.mode in ("dark", "shadow")
        if "permit" in selector_options:
            # The forward after the last search has every tool of the request again.
            raise InvalidArgument("permit: filter the tools of the request before the flow begins")
        options: dict[str, Any] = {
            "endpoint": config.api.endpoint if asks else None,
            "api_key": config.api.api_key or None,
            "timeout": config.api.timeout,
            "rollout": parsed if self._only_asks else Rollout("on" if asks else "off"),
        }
        self.selector = self._selector(**options | selector_options)
        self.waits = isinstance(self.selector, AsyncSelector)
        """Whether there is an event loop, which nothing may hold up."""
        # A query that no event may hold is not reported either.
        learn = learn and selector_options.get("log_query") != "off"
        self.reporter = make_reporter(self.selector) if learn and asks else None
        """Reports to the service; None if nothing is to be reported."""
        self.store = SessionStore() if store is None else store
        self.observers = TurnObservers(config.strategy, observers, self.reporter)
        """Are told of every turn."""
        settings = TurnSettings(config, self.store, max_rounds, native, remember_tools)
        everyone = Rollout("on") if self._only_asks else parsed
        self._preparation = Preparation(settings, everyone, self.observers)
        self._places = Places(SEARCHED_AT_ONCE, waits=self.waits)

    selector: AsyncSelector | Selector
    _selector: type[AsyncSelector] | type[Selector]
    """The selector of one kind of flow."""

    async def prepare(  # noqa: PLR0913  # what is known of a request
        self,
        request: Json,
        provider: ProviderName = "openai",
        session: str | None = None,
        scope: str = "",
        streams: bool = False,
        *,
        in_thread: bool = False,
        address: str | None = None,
    ) -> Turn | Json:
        """Return a turn with deferred tools, or the body to forward once.

        The service is asked what to show first, or whatever a rollout asks without an effect. A
        large request is read `in_thread`, on an event loop; it goes to `address`, a host and path.
        """
        upstream = Upstream(provider, "", address, scope)
        begin = partial(self._preparation.begin, request, upstream, session, streams)
        async with self._places.here():
            begun = await asyncio.to_thread(begin) if in_thread and self.waits else begin()
            if not isinstance(begun, Turn) or begun.state.is_plain:
                return request if self._only_asks else begun
            if self._only_asks:
                if query := begun.state.user_query:
                    await self._find(begun.state, query, loop=0)
                return request
            effect = begun.handle(Request())
            if isinstance(effect, Search):
                effect = begun.handle(Searched(await self._answer(begun, effect)))
            if isinstance(effect, Release):
                return effect.request
            perform_report(begun, effect, self.observers)
        return begun

    def limit_tools(self, request: Json, provider: ProviderName) -> Json:
        """Return a request that is not searched, with no more tools than its provider takes."""
        return self._preparation.limit_tools(request, provider)

    async def _search(self, turn: Turn, search: Search) -> list[Found]:
        async with self._places.here():
            return await self._answer(turn, search)

    async def _answer(self, turn: Turn, search: Search) -> list[Found]:
        """Answer the searches of one response, side by side where that does not block."""

        async def answered(call: Call) -> Found:
            if not call.query.strip():
                return call, NO_QUERY
            return call, await self._find(turn.state, call.query, search.round)

        if not self.waits or len(search.calls) == 1:
            return [await answered(call) for call in search.calls]
        return await asyncio.gather(*map(answered, search.calls))

    async def _find(self, turn: TurnState, query: str, loop: int) -> Selection[Any]:
        """Search for tools, here or by the service."""
        offer = turn.shown.searched
        session = turn.session
        most = self.config.max_search_results
        if self.config.strategy == "tool-search":
            selection = local.select(query, offer, most)
            self.selector.telemetry.report(selection, query, session, len(offer.names), loop)
            return selection
        tools: Any = offer
        pins = turn.offer.matching(self.config.always_keep)
        asked = self.selector.select(query, tools, most, pins, session=session, loop=loop)
        return await await_result(asked)

    async def complete_turn(self, begun: Turn | Json, forward: AsyncForward[Body]) -> Body:
        """Forward what `prepare` returned, until a response is for the client."""
        if not isinstance(begun, Turn):
            return await forward(begun)
        try:
            effect = Forward(begun.request)
            return await complete(begun, effect, forward, self._search)
        finally:
            end_turn(begun, self.observers)

    def stream_turn(
        self, turn: Turn, opened: AsyncIterator[bytes], forward: AsyncOpen
    ) -> AsyncGenerator[bytes, None]:
        """Do the same for a stream that was opened with the request of a turn."""
        return stream(turn, opened, forward, self._search, self.observers)

    async def _stream(
        self,
        request: Json,
        forward: AsyncOpen,
        provider: ProviderName = "openai",
        session: str | None = None,
        scope: str = "",
    ) -> AsyncGenerator[bytes, None]:
        """As `ToolDiscovery.stream`."""
        begun = await self.prepare(request, provider, session, scope, streams=True)
        if isinstance(begun, Turn):
            pieces: AsyncIterator[bytes] = self.stream_turn(begun, forward(begun.request), forward)
        else:
            pieces = forward(begun)
        try:
            async for piece in pieces:
                yield piece
        finally:
            await close(pieces)
