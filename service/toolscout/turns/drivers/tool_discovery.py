"""`ToolDiscovery`: the whole flow for a proxy, in one call around its own forwarding.

    discovery = ToolDiscovery("http://127.0.0.1:8080")  # or ToolDiscovery(load("gateway.yaml"))
    response = discovery.complete(request, forward, provider="openai")

With strategy `hybrid-first`, `api` or `tool-search` the tools are deferred behind a search tool,
which the client never sees. With `relevance` they are filtered here; `passthrough` does nothing.
"""

from collections.abc import AsyncIterator, Callable, Generator, Iterator

from toolscout.client.selector import AsyncSelector, Selector
from toolscout.turns.drivers.flow import Flow
from toolscout.turns.drivers.loops import AsyncForward, Body, complete, end_turn
from toolscout.turns.drivers.pieces import Blocking, drain, run
from toolscout.turns.events import Answer
from toolscout.turns.providers import Json, ProviderName
from toolscout.turns.providers.fields import body_of
from toolscout.turns.turn import Turn

Forward = Callable[[Json], Body]
Open = Callable[[Json], Iterator[bytes]]


class AsyncToolDiscovery(Flow):
    """The flow for asyncio code. The settings are those of `Flow`."""

    selector: AsyncSelector
    _selector = AsyncSelector

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
            effect = turn.handle(Answer(body_of(response)))
            return await complete(turn, effect, forward, self._search, response)
        finally:
            end_turn(turn, self.observers)

    stream = Flow._stream

    async def aclose(self) -> None:
        """Send what is left to report, for at most half a second, and close the selector."""
        if self.reporter is not None:
            await self.reporter.flush()
        await self.selector.aclose()


class ToolDiscovery(Flow):
    """The flow for blocking code. The settings are those of `Flow`."""

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

        return drain(self._stream(request, opened, provider, session, scope))

    def close(self) -> None:
        """Send what is left to report, for at most half a second, and close the selector."""
        if self.reporter is not None:
            run(self.reporter.flush())
        self.selector.close()
