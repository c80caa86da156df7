"""`ToolDiscovery`: the whole flow for a proxy, in one call around its own forwarding.

    discovery = ToolDiscovery("http://127.0.0.1:8080")  # or ToolDiscovery(load("gateway.yaml"))
    response = discovery.complete(request, forward, provider="openai")

With strategy `hybrid-first`, `api` or `tool-search` the tools are deferred behind a search tool,
which the client never sees. With `relevance` they are filtered here; `passthrough` does nothing.

A flow is one coroutine, or one asynchronous generator for streams, around `forward` and searches.
The blocking class runs it in the caller's thread without an event loop; there it never waits.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from functools import partial
from typing import Any, TypeVar, cast

from toolscout.client.log import logger
from toolscout.client.selection import Reason, Selection
from toolscout.client.selector import AsyncSelector, Selector
from toolscout.discovery.exchange import PassedOnError, ProviderError, outputs
from toolscout.discovery.left_out import Upstream
from toolscout.discovery.pieces import Blocking, close, drained, result_of, run
from toolscout.discovery.preparation import Preparation
from toolscout.discovery.providers import Call, Json, ProviderName
from toolscout.discovery.providers.fields import body_of, in_type_of
from toolscout.discovery.providers.stream import Stream
from toolscout.discovery.refusals import may_be_ours
from toolscout.discovery.shown import Found
from toolscout.discovery.turn import Turn

Body = TypeVar("Body")
"""What a forward returns: a response body as a dict, or the SDK's own object."""

Forward = Callable[[Json], Body]
AsyncForward = Callable[[Json], Awaitable[Body]]
Open = Callable[[Json], Iterator[bytes]]
AsyncOpen = Callable[[Json], AsyncIterator[bytes]]

NO_QUERY: Selection[Any] = Selection([], [], reason=Reason.EMPTY_QUERY)
"""The result of a search that says not for what."""

STARTS_OVER = "forwarding failed after a search; the request goes out as it came"


class Flow(Preparation):
    """The coroutine and the generator that both classes run."""

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
        begin = partial(self._begun, request, upstream, session, streams)
        async with self._places.here():
            begun = await asyncio.to_thread(begin) if in_thread and self.waits else begin()
            if self._only_asks:
                if isinstance(begun, Turn) and begun.user_query:
                    await self._find(begun, begun.user_query, loop=0)
                return request
            if isinstance(begun, Turn):
                is_first = self.config.strategy == "hybrid-first" or not begun.can_search
                always = self.config.ask_every_turn
                if is_first and (begun.first is None or (always and begun.asks_again)):
                    await self._show_fitting(begun)
                if (unsearched := begun.unsearched) is not None:
                    return unsearched
                self._observe("deferred", begun)
        return begun

    async def _show_fitting(self, turn: Turn) -> None:
        """Show the few tools that fit what the user asks, so that no search is needed."""
        query, is_first = turn.user_query, turn.first is None
        if not query.strip():
            return
        selection = await self._find(turn, query, loop=0)
        turn.searched.append((0, query, selection))
        if not selection.fell_open or selection.reason is Reason.EMPTY_SELECTION:
            names = () if selection.fell_open else selection.names
            if is_first:
                turn.show_first(names)
            else:  # what the model sees already takes a place
                turn.show_fitting(names[: self.config.max_search_results])
        elif is_first:  # nobody will answer the model's searches either
            turn.show_without_answer()

    async def _search(self, turn: Turn, calls: list[Call]) -> list[Found]:
        """Answer the searches of one response, side by side where that does not block."""

        async def answered(call: Call) -> Found:
            if not call.query.strip():
                return call, NO_QUERY
            return call, await self._find(turn, call.query, turn.rounds + 1)

        if not self.waits:
            return [await answered(call) for call in calls]
        async with self._places.here():
            return await asyncio.gather(*map(answered, calls))

    async def _find(self, turn: Turn, query: str, loop: int) -> Selection[Any]:
        """Search for tools, here or by the service."""
        offer: Any = turn.offer
        # Pins are not searched for, and those that are found take no place.
        top_k = self.config.max_search_results + len(turn.shown.pins)
        is_local = self.config.strategy == "tool-search"
        search = self._local_search if is_local else self.selector.select
        selection = await result_of(search(query, offer, top_k, session=turn.session, loop=loop))
        return turn.shown.limited(selection, self.config.max_search_results)

    async def complete_turn(self, begun: Turn | Json, forward: AsyncForward[Body]) -> Body:
        """Forward what `prepare` returned, until a response is for the client."""
        if not isinstance(begun, Turn):
            return await forward(begun)
        try:
            return cast("Body", await self._go_on(begun, await answer_to(begun, forward), forward))
        finally:
            begun.end()

    async def _go_on(self, turn: Turn, given: Any, forward: AsyncForward[Any]) -> Any:
        """Search and forward until a response is for the client; return it in its original type."""
        response = body_of(given)
        while calls := turn.searches(response):
            if turn.resume(response, await self._search(turn, calls)) is None:
                break
            try:
                given = await answer_to(turn, forward)
            except Exception as error:
                if not may_be_ours(error):
                    raise
                # The added tools may be the cause, so the client's own request is tried.
                logger.warning(STARTS_OVER)
                given = await forward(turn.start_over())
                return in_type_of(given, turn.with_usage(body_of(given)))
            response = body_of(given)
        return in_type_of(given, turn.finish(response))

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


class AsyncToolDiscovery(Flow):
    """The flow for asyncio code. The settings are those of `Preparation`."""

    selector: AsyncSelector
    _selector = AsyncSelector
    waits = True

    async def complete(
        self,
        request: Json,
        forward: AsyncForward[Body],
        provider: ProviderName = "openai",
        session: str | None = None,
        scope: str = "",
    ) -> Body:
        """As `ToolDiscovery.complete`; the searches of one response run side by side."""
        begun = await self.prepare(request, provider, session, scope)
        return await self.complete_turn(begun, forward)

    async def resume(self, turn: Turn, response: Body, forward: AsyncForward[Body]) -> Body:
        """Continue a turn from `prepare` whose request was forwarded elsewhere.

        This is for proxies that call hooks before and after they forward.
        """
        try:
            return cast("Body", await self._go_on(turn, response, forward))
        finally:
            turn.end()

    stream = Flow._stream

    async def aclose(self) -> None:
        """Send what is left to report, for at most half a second, and close the selector."""
        if self.reporter is not None:
            await self.reporter.flush()
        await self.selector.aclose()


class ToolDiscovery(Flow):
    """The flow for blocking code. The settings are those of `Preparation`."""

    selector: Selector
    _selector = Selector

    def complete(
        self,
        request: Json,
        forward: Forward[Body],
        provider: ProviderName = "openai",
        session: str | None = None,
        scope: str = "",
    ) -> Body:
        """Forward a request, search as often as the model asks, and return the final response.

        Args:
            request: the provider's request body; not changed.
            forward: sends a body to the model and returns the response body, as a dict or as the
                SDK's own (pydantic) object; the result has the same type. Its exceptions are
                raised; after a search, the request is first forwarded once more as it came.
            provider: whose shapes these are.
            session: id of the conversation; by default derived from its first user message.
            scope: keeps equal conversations of different users apart.

        Raises:
            InvalidArgument: the provider is unknown, or `forward` returned no response body.
        """

        async def forwarded(body: Json) -> Body:
            return forward(body)

        begun = run(self.prepare(request, provider, session, scope))
        return run(self.complete_turn(begun, forwarded))

    def stream(
        self,
        request: Json,
        forward: Open,
        provider: ProviderName = "openai",
        session: str | None = None,
        scope: str = "",
    ) -> Generator[bytes, None, None]:
        """Do the same for a request that streams: yield the events for the client as they come.

        Args:
            request: the provider's request body, with streaming switched on; not changed.
            forward: sends a body and yields the bytes of its server-sent events, in any pieces.
            provider: whose events these are; streams of those without a `stream` are passed on
                as they are.
            session: id of the conversation.
            scope: keeps equal conversations of different users apart.
        """

        def opened(body: Json) -> AsyncIterator[bytes]:
            return Blocking(forward(body))

        return drained(self._stream(request, opened, provider, session, scope))

    def close(self) -> None:
        """Send what is left to report, for at most half a second, and close the selector."""
        if self.reporter is not None:
            run(self.reporter.flush())
        self.selector.close()
