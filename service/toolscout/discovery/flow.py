"""The flow of turns: forward and search until a response is for the client.

It is one coroutine, or one asynchronous generator for streams, around `forward` and searches.
The blocking class runs it in the caller's thread without an event loop; there it never waits.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from toolscout.client import events
from toolscout.client.log import logger
from toolscout.client.rollout import Rollout
from toolscout.client.selection import Reason, Selection
from toolscout.client.selector import AsyncSelector, Selector
from toolscout.client.settings import check_options
from toolscout.discovery import local
from toolscout.discovery.config import ApiConfig, DiscoveryConfig, Dispatching
from toolscout.discovery.exchange import PassedOnError, ProviderError, outputs
from toolscout.discovery.left_out import Upstream
from toolscout.discovery.observing import TurnObservers
from toolscout.discovery.opening import MAX_ROUNDS, TurnSettings
from toolscout.discovery.pieces import Places, close, result_of
from toolscout.discovery.preparation import Preparation
from toolscout.discovery.providers import Call, Json, ProviderName
from toolscout.discovery.providers.fields import body_of, in_type_of
from toolscout.discovery.providers.stream import Stream
from toolscout.discovery.refusals import may_be_ours
from toolscout.discovery.reporter import reporter_of
from toolscout.discovery.session import SessionStore
from toolscout.discovery.shown import Found
from toolscout.discovery.turn import Turn
from toolscout.errors import InvalidArgument, check_count, check_switches

Body = TypeVar("Body")
"""What a forward returns: a response body as a dict, or the SDK's own object."""

AsyncForward = Callable[[Json], Awaitable[Body]]
AsyncOpen = Callable[[Json], AsyncIterator[bytes]]

ASKING = ("api", "hybrid-first")
"""Strategies that ask the service."""

SEARCHED_AT_ONCE = 8
"""Concurrent preparations per event loop, or of all threads. The timeout of a search starts when it
runs: of 200 at once, most timed out before they had a connection."""

NO_QUERY: Selection[Any] = Selection([], [], reason=Reason.EMPTY_QUERY)
"""The result of a search that says not for what."""

STARTS_OVER = "forwarding failed after a search; the request goes out as it came"


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
        self.reporter = reporter_of(self.selector) if learn and asks else None
        """Reports to the service; None if nothing is to be reported."""
        self.store = SessionStore() if store is None else store
        self._observers = TurnObservers(config.strategy, observers, self.reporter)
        on_end = partial(self._observers.tell_of, "finished")
        settings = TurnSettings(config, self.store, max_rounds, native, remember_tools, on_end)
        everyone = Rollout("on") if self._only_asks else parsed
        self._preparation = Preparation(settings, everyone, self._observers)
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
            if self._only_asks:
                if isinstance(begun, Turn) and begun.user_query:
                    await self._find(begun, begun.user_query, loop=0)
                return request
            if isinstance(begun, Turn):
                if query := begun.first_query:
                    begun.show_fitting(query, await self._find(begun, query, loop=0))
                if (unsearched := begun.unsearched) is not None:
                    return unsearched
                self._observers.tell_of("deferred", begun)
        return begun

    async def _search(self, turn: Turn, calls: list[Call]) -> list[Found]:
        """Answer the searches of one response, side by side where that does not block."""

        async def answered(call: Call) -> Found:
            if not call.query.strip():
                return call, NO_QUERY
            return call, await self._find(turn, call.query, turn.rounds + 1)

        async with self._places.here():
            if not self.waits:
                return [await answered(call) for call in calls]
            return await asyncio.gather(*map(answered, calls))

    async def _find(self, turn: Turn, query: str, loop: int) -> Selection[Any]:
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
        return await result_of(asked)

    async def complete_turn(self, begun: Turn | Json, forward: AsyncForward[Body]) -> Body:
        """Forward what `prepare` returned, until a response is for the client."""
        if not isinstance(begun, Turn):
            return await forward(begun)
        try:
            return cast("Body", await self._go_on(begun, await answer_to(begun, forward), forward))
        finally:
            begun.end()

    async def _go_on(self, turn: Turn, answer: Any, forward: AsyncForward[Any]) -> Any:
        """Search and forward until a response is for the client; return it in its original type."""
        response = body_of(answer)
        while calls := turn.searches(response):
            if turn.resume(response, await self._search(turn, calls)) is None:
                break
            try:
                answer = await answer_to(turn, forward)
            except Exception as error:
                if not may_be_ours(error):
                    raise
                # The added tools may be the cause, so the client's own request is tried.
                logger.warning(STARTS_OVER)
                answer = await forward(turn.start_over())
                return in_type_of(answer, turn.with_usage(body_of(answer)))
            response = body_of(answer)
        return in_type_of(answer, turn.finish(response))

    async def _next_request(self, turn: Turn, stream: Stream) -> Json | None:
        """Search what a stream asks for; None if nothing is to be forwarded after it."""
        try:
            response = stream.response()
            if calls := turn.searches(response):
                return turn.resume(response, await self._search(turn, calls))
        except Exception:  # the client has the answer, which was paid for
            logger.exception("the end of a stream could not be read; it is not searched")
        return None

    async def stream_turn(
        self, turn: Turn, opened: AsyncIterator[bytes], forward: AsyncOpen
    ) -> AsyncGenerator[bytes, None]:
        """Do the same for a stream that was opened with the request of a turn."""
        assert turn.provider.stream is not None
        stream = turn.provider.stream(turn.search_name)
        started_over = False
        try:
            while True:
                is_answered = False
                try:
                    async for out in outputs(stream, opened, turn.searches, turn.rounds):
                        is_answered = True
                        turn.accept()
                        if out:
                            yield out
                except PassedOnError:
                    return
                except Exception as error:
                    if not is_answered and turn.falls_back_after(error):
                        stream = stream if turn.rounds else turn.provider.stream(turn.search_name)
                        opened = forward(turn.request)
                        continue
                    is_final = is_answered or turn.rounds == 0 or started_over
                    if is_final or not may_be_ours(error):
                        raise
                    logger.warning(STARTS_OVER)
                    started_over = True
                    request: Json | None = turn.start_over()
                else:
                    request = await self._next_request(turn, stream)
                if out := stream.finish(is_last=request is None):
                    yield out
                if request is None:
                    break
                opened = forward(request)
        except ProviderError as error:  # the client has the status of the first answer
            yield stream.fail(error.status_code, error.error)
        finally:
            turn.end()
            await close(opened)

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


async def answer_to(turn: Turn, forward: AsyncForward[Body]) -> Body:
    """Forward the request of a turn, and plainer ones while it is refused."""
    while True:
        try:
            return await forward(turn.request)
        except Exception as error:
            if not turn.falls_back_after(error):
                raise
