"""`ToolDiscovery`: the whole flow for a proxy, in one call around its own forwarding.

    discovery = ToolDiscovery("http://127.0.0.1:8080")  # or ToolDiscovery(load("gateway.yaml"))
    response = discovery.complete(request, forward, provider="openai")

With strategy `api` or `tool-search` the request goes out with one search tool instead of all of its
tools; the model searches, the found tools come back, and the client never sees the search tool.
With `relevance` the tools are filtered here; `passthrough` forwards the request as it is.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar

from toolscout.client.discovery.preparation import Preparation
from toolscout.client.discovery.steps import (
    END_OF_EVENT,
    Steps,
    conversation,
    marks,
    next_body,
    question,
    starts_over,
)
from toolscout.client.discovery.turn import Turn
from toolscout.client.providers import Call, Json
from toolscout.client.providers.stream import STREAMS
from toolscout.client.selector.selection import Selection
from toolscout.client.selector.selector import AsyncSelector, Selector

Body = TypeVar("Body")
"""What a forward returns: a response body as a dict, or the SDK's own object."""

Forward = Callable[[Json], Body]
AsyncForward = Callable[[Json], Awaitable[Body]]
Open = Callable[[Json], Iterator[bytes]]
AsyncOpen = Callable[[Json], AsyncIterator[bytes]]


class ToolDiscovery(Preparation):
    """The flow for blocking code. The settings are those of `Preparation`."""

    selector: Selector

    def _prepare(self, settings: dict[str, Any]) -> None:
        self.selector = Selector(**settings)

    def complete(
        self,
        request: Json,
        forward: Forward[Body],
        provider: str = "openai",
        session: str | None = None,
        scope: str = "",
    ) -> Body:
        """Forward a request, searching as often as the model asks for; the final response.

        Args:
            request: the provider's request body; not changed.
            forward: sends a body to the model and returns the response body, as a dict or as the
                SDK's own (pydantic) object; what is returned here has its type. What it raises is
                raised; but where that follows a search, the request is first forwarded as it came.
            provider: whose shapes these are.
            session: names the conversation; made from its first user message when missing.
            scope: keeps equal conversations of different users apart.

        Raises:
            InvalidArgument: there is no provider of that name, or `forward` returned what is no
                response body.
        """
        self.look_on(request, provider)
        steps = conversation(self.begin(request, provider, session, scope))
        result: Any = None
        try:
            while True:
                step = steps.send(result)
                if isinstance(step, tuple):
                    result = [(call, self._search(call, step[0])) for call in step[1]]
                else:
                    result = _attempt(forward, step)
        except StopIteration as end:
            response: Body = end.value
            return response

    def stream(
        self,
        request: Json,
        forward: Open,
        provider: str = "openai",
        session: str | None = None,
        scope: str = "",
    ) -> Iterator[bytes]:
        """As `complete`, for a request that streams: the events for the client, as they come.

        Args:
            request: the provider's request body, with streaming switched on; not changed.
            forward: sends a body and yields the bytes of its server-sent events, in any pieces.
            provider: `openai` or `anthropic`; other streams are passed on as they are.
            session: names the conversation.
            scope: keeps equal conversations of different users apart.
        """
        self.look_on(request, provider)
        begun = self.begin_stream(request, provider, session, scope)
        if not isinstance(begun, Turn):
            yield from forward(begun)
            return
        stream = STREAMS[provider](begun.search_name)
        body: Json | None = begun.request
        while body is not None:
            try:
                for chunk in forward(body):
                    if out := stream.feed(chunk):
                        yield out
                if out := stream.feed(END_OF_EVENT):
                    yield out
            except Exception:
                if not starts_over(begun, stream, body):
                    raise
                body = begun.original
                continue
            calls = begun.searches(stream.response())
            found = [(call, self._search(call, begun)) for call in calls]
            body = next_body(begun, stream, found)
        if out := stream.finish():
            yield out

    def look_on(self, request: Json, provider: str = "openai") -> None:
        """Ask about a request where the rollout only looks on; else do nothing."""
        if (asked := self.looks_on(request, provider)) is not None:
            self.selector.select(*asked, self.config.max_search_results, self.config.always_keep)

    def _search(self, call: Call, turn: Turn) -> Selection:
        if self.config.strategy == "tool-search":
            return self.local_search(call, turn)
        return self.selector.select(*question(call, turn, self.config), **marks(turn))

    def close(self) -> None:
        """Close the selector."""
        self.selector.close()


class AsyncToolDiscovery(Preparation):
    """The flow for asyncio code. The settings are those of `Preparation`."""

    selector: AsyncSelector

    def _prepare(self, settings: dict[str, Any]) -> None:
        self.selector = AsyncSelector(**settings)

    async def complete(
        self,
        request: Json,
        forward: AsyncForward[Body],
        provider: str = "openai",
        session: str | None = None,
        scope: str = "",
    ) -> Body:
        """As `ToolDiscovery.complete`; the searches of one response run side by side."""
        await self.look_on(request, provider)
        begun = self.begin(request, provider, session, scope)
        return await self._drive(conversation(begun), forward)

    async def resume(self, turn: Turn, response: Body, forward: AsyncForward[Body]) -> Body:
        """Go on with a turn from `begin` whose request was forwarded elsewhere.

        For proxies that call hooks before and after a forwarding of their own.
        """
        steps = conversation(turn)
        next(steps)
        return await self._drive(steps, forward, response)

    async def _drive(self, steps: Steps, forward: AsyncForward[Body], result: Any = None) -> Body:
        try:
            while True:
                step = steps.send(result)
                if isinstance(step, tuple):
                    turn, calls = step
                    found = await asyncio.gather(*(self.search(call, turn) for call in calls))
                    result = list(zip(calls, found, strict=True))
                else:
                    try:
                        result = await forward(step)
                    except Exception as error:
                        result = error
        except StopIteration as end:
            response: Body = end.value
            return response

    async def stream(
        self,
        request: Json,
        forward: AsyncOpen,
        provider: str = "openai",
        session: str | None = None,
        scope: str = "",
    ) -> AsyncIterator[bytes]:
        """As `ToolDiscovery.stream`."""
        await self.look_on(request, provider)
        begun = self.begin_stream(request, provider, session, scope)
        if not isinstance(begun, Turn):
            async for chunk in forward(begun):
                yield chunk
            return
        async for out in self.resume_stream(begun, provider, forward(begun.request), forward):
            yield out

    async def resume_stream(
        self, turn: Turn, provider: str, opened: AsyncIterator[bytes], forward: AsyncOpen
    ) -> AsyncIterator[bytes]:
        """As `resume`, for a turn whose request was opened as a stream elsewhere."""
        stream = STREAMS[provider](turn.search_name)
        body: Json | None = turn.request
        while body is not None:
            try:
                async for chunk in opened:
                    if out := stream.feed(chunk):
                        yield out
                if out := stream.feed(END_OF_EVENT):
                    yield out
            except Exception:
                if not starts_over(turn, stream, body):
                    raise
                body = turn.original
            else:
                calls = turn.searches(stream.response())
                found = await asyncio.gather(*(self.search(call, turn) for call in calls))
                body = next_body(turn, stream, list(zip(calls, found, strict=True)))
            if body is not None:
                opened = forward(body)
        if out := stream.finish():
            yield out

    async def look_on(self, request: Json, provider: str = "openai") -> None:
        """As `ToolDiscovery.look_on`, for hooks around a forwarding of the proxy's own."""
        if (asked := self.looks_on(request, provider)) is not None:
            config = self.config
            await self.selector.select(*asked, config.max_search_results, config.always_keep)

    async def search(self, call: Call, turn: Turn) -> Selection:
        """Answer one search of a turn."""
        if self.config.strategy == "tool-search":
            return self.local_search(call, turn)
        return await self.selector.select(*question(call, turn, self.config), **marks(turn))

    async def aclose(self) -> None:
        """Close the selector."""
        await self.selector.aclose()


def _attempt(forward: Forward[Any], request: Json) -> Any:
    try:
        return forward(request)
    except Exception as error:
        return error
