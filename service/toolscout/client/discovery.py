"""`ToolDiscovery`: the whole flow for a proxy, in one call around its own forwarding.

    discovery = ToolDiscovery(load("gateway.yaml"))
    response = discovery.complete(request, forward, provider="openai")

With strategy `api` or `tool-search` the request goes out with one search tool instead of all of its
tools; the model searches, the found tools come back, and the client never sees the search tool.
With `relevance` the tools are filtered here; `passthrough` forwards the request as it is.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, get_args

from toolscout.client.config import DiscoveryConfig
from toolscout.client.errors import InvalidArgument
from toolscout.client.loop import MAX_ROUNDS, Order, Turn
from toolscout.client.providers import Call, Json, Provider, provider_named
from toolscout.client.rollout import Rollout
from toolscout.client.selection import Selection
from toolscout.client.selector import AsyncSelector, Selector
from toolscout.client.session import SessionStore, hashed
from toolscout.client.strategies import relevance, search
from toolscout.client.tools import Offer

Forward = Callable[[Json], Json]
AsyncForward = Callable[[Json], Awaitable[Json]]
Searches = tuple[Turn, list[Call]]
Steps = Generator[Json | Searches, Any, Json]

logger = logging.getLogger("toolscout.client")


class _DiscoveryBase:
    """Everything of the flow but forwarding and asking.

    Args:
        config: strategy and limits, in the proxy's own terms.
        order: where found tools go: `append` (default), `rank` or `catalog`.
        defer_above: requests with at most this many tools are forwarded as they are.
        max_rounds: searches in one turn, at most.
        store: remembers what each session has found.
        selector_options: further arguments of the selector: rollout, fallback, redact, observers …
    """

    def __init__(
        self,
        config: DiscoveryConfig,
        *,
        order: Order = "append",
        defer_above: int = 0,
        max_rounds: int = MAX_ROUNDS,
        store: SessionStore | None = None,
        rollout: str | Rollout = "on",
        **selector_options: Any,
    ) -> None:
        if not isinstance(config, DiscoveryConfig):
            raise InvalidArgument.of("config", "a DiscoveryConfig", config)
        if order not in get_args(Order):
            raise InvalidArgument(f"order: expected rank, catalog or append, got {order!r}")
        self.config = config
        self.store = SessionStore() if store is None else store
        self._order = order
        self._defer_above = defer_above
        self._max_rounds = max_rounds
        self._rollout = Rollout.parse(rollout)
        # A percentage is decided here, for the whole turn; looking on is the selector's.
        mode = self._rollout if self._rollout.mode in ("dark", "shadow") else Rollout("on")
        self._selector_arguments: dict[str, Any] = {
            "endpoint": config.api.endpoint or None,
            "api_key": config.api.api_key or None,
            "timeout": config.api.timeout,
            "rollout": mode,
            **selector_options,
        }

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
        return Turn(
            request,
            provider,
            offer,
            name,
            self.store,
            self.config.search_tool_name,
            self._order,
            self._max_rounds,
        )

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
            self.store.store_deferred(session, [offer.by_name[n] for n in filtered.deferred])
        if not filtered.deferred:
            return request
        kept = set(filtered.kept)
        names = [name for name in offer.names if name in kept]
        if self._order == "rank":
            names = list(filtered.kept)
        return provider.with_tools(request, offer.pick(names))

    def _looks_on(self, request: Json, provider: str) -> tuple[str, Sequence[Any]] | None:
        """What to ask about when the rollout only looks on; None when it does not."""
        shapes = provider_named(provider)
        if self._rollout.mode not in ("dark", "shadow") or self.config.strategy != "api":
            return None
        tools, query = shapes.tools(request), shapes.query(request)
        return (query, tools) if tools and query else None

    def _local(self, call: Call, turn: Turn) -> Selection:
        """Strategy `tool-search`: what the local search finds; nothing is a fact, not a failure."""
        found = search.search(
            call.query,
            turn.offer.everything,
            self.config.max_search_results,
            self.config.always_keep,
        )
        return Selection(tuple(found), turn.offer.pick(found))


class ToolDiscovery(_DiscoveryBase):
    """The flow for blocking code."""

    __doc__ = f"{__doc__}\n{_DiscoveryBase.__doc__}"

    def __init__(self, config: DiscoveryConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.selector = Selector(**self._selector_arguments)

    def complete(
        self,
        request: Json,
        forward: Forward,
        provider: str = "openai",
        session: str | None = None,
        scope: str = "",
    ) -> Json:
        """Forward a request, searching as often as the model asks for; the final response.

        Args:
            request: the provider's request body; not changed.
            forward: sends a body to the model and returns the response body. What it raises is
                raised; but where that follows a search, the request is first forwarded as it came.
            provider: whose shapes these are.
            session: names the conversation; made from its first user message when missing.
            scope: keeps equal conversations of different users apart.
        """
        if (asked := self._looks_on(request, provider)) is not None:
            self.selector.select(*asked, self.config.max_search_results, self.config.always_keep)
        steps = _conversation(self.begin(request, provider, session, scope))
        result: Any = None
        try:
            while True:
                step = steps.send(result)
                if isinstance(step, tuple):
                    result = [(call, self._search(call, step[0])) for call in step[1]]
                else:
                    result = _attempt(forward, step)
        except StopIteration as end:
            response: Json = end.value
            return response

    def _search(self, call: Call, turn: Turn) -> Selection:
        if self.config.strategy == "tool-search":
            return self._local(call, turn)
        return self.selector.select(*_question(call, turn, self.config), **_marks(turn))

    def close(self) -> None:
        """Close the selector."""
        self.selector.close()


class AsyncToolDiscovery(_DiscoveryBase):
    """The flow for asyncio code."""

    __doc__ = f"{__doc__}\n{_DiscoveryBase.__doc__}"

    def __init__(self, config: DiscoveryConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.selector = AsyncSelector(**self._selector_arguments)

    async def complete(
        self,
        request: Json,
        forward: AsyncForward,
        provider: str = "openai",
        session: str | None = None,
        scope: str = "",
    ) -> Json:
        """As `ToolDiscovery.complete`; the searches of one response run side by side."""
        if (asked := self._looks_on(request, provider)) is not None:
            config = self.config
            await self.selector.select(*asked, config.max_search_results, config.always_keep)
        begun = self.begin(request, provider, session, scope)
        return await self._drive(_conversation(begun), forward)

    async def resume(self, turn: Turn, response: Json, forward: AsyncForward) -> Json:
        """Go on with a turn from `begin` whose request was forwarded elsewhere.

        For proxies that call hooks before and after a forwarding of their own.
        """
        steps = _conversation(turn)
        next(steps)
        return await self._drive(steps, forward, response)

    async def _drive(self, steps: Steps, forward: AsyncForward, result: Any = None) -> Json:
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
            response: Json = end.value
            return response

    async def search(self, call: Call, turn: Turn) -> Selection:
        """Answer one search of a turn."""
        if self.config.strategy == "tool-search":
            return self._local(call, turn)
        return await self.selector.select(*_question(call, turn, self.config), **_marks(turn))

    async def aclose(self) -> None:
        """Close the selector."""
        await self.selector.aclose()


def _conversation(begun: Turn | Json) -> Steps:
    """Yields requests to forward and searches to make; returns the response for the client.

    Is sent responses, or the exception that forwarding ended in.
    """
    response = _good((yield begun.request if isinstance(begun, Turn) else begun))
    if not isinstance(begun, Turn):
        return response
    while calls := begun.searches(response):
        found = yield (begun, calls)
        resumed = begun.resume(response, found)
        if resumed is None:
            break
        answer = yield resumed
        if isinstance(answer, Exception):
            # What was added to the request may be why; the client is owed what it asked for.
            logger.warning("forwarding failed after a search; the request goes out as it came")
            return _good((yield begun.original))
        response = answer
    return begun.finish(response)


def _good(answer: Any) -> Json:
    if isinstance(answer, Exception):
        raise answer
    response: Json = answer
    return response


def session_of(request: Json, provider: Provider, scope: str = "") -> str:
    """The id of a request's conversation; empty when it has no user message."""
    first = provider.first_message(request)
    return "" if first is None else hashed(first, scope)


def _question(
    call: Call, turn: Turn, config: DiscoveryConfig
) -> tuple[str, Sequence[Any], int, Sequence[str]]:
    return call.query, turn.offer.everything, config.max_search_results, config.always_keep


def _marks(turn: Turn) -> dict[str, Any]:
    return {"session": turn.session, "loop": turn.rounds + 1}


def _attempt(forward: Forward, request: Json) -> Any:
    try:
        return forward(request)
    except Exception as error:
        return error
