"""`Selector` and `AsyncSelector`: ask the service which tools to show.

Whatever the service or the network does, a call returns within its timeout with a usable list of
tools: the service's choice, checked against the tools that were offered, or all of them.
"""

import asyncio
from collections.abc import Collection, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import Any, Self

from toolscout.client.selector.background import Background, Closed
from toolscout.client.selector.request import Request, Verdict
from toolscout.client.selector.selection import Selection, T
from toolscout.client.selector.settings import SelectorBase
from toolscout.contract import DEFAULT_TOP_K

LONG = 1_000
"""Tools from which a list is read and encoded beside the event loop: 10,000 take 0.1 s."""


class AsyncSelector(SelectorBase):
    """Selects tools for asyncio code; one instance serves any number of tasks.

    The settings are those of `SelectorBase`; an asynchronous context manager.
    """

    async def select(  # noqa: PLR0913  # options of the public call
        self,
        pattern: str,
        tools: Sequence[T],
        top_k: int | None = DEFAULT_TOP_K,
        always_keep: Collection[str] | None = (),
        *,
        session: str | None = None,
        loop: int = 0,
        fields: Mapping[str, Any] | None = None,
    ) -> Selection[T]:
        """Choose at most `top_k` of the tools; never raises.

        Args:
            pattern: prose, keywords, a tool name or a regular expression.
            tools: any provider's shape; dicts, dataclasses, pydantic models. At most `top_k` of
                them come back as they were, unless `fields` filters them.
            top_k: most names to choose; less than 1 is taken as 5, as the proxies do.
            always_keep: names to choose always, within `top_k`.
            session: the key of the call in a `percent` rollout.
            loop: number of the search within one model turn; only reported.
            fields: further fields of the request, such as `ranker`, `filters` or `min_score`; a
                service ignores those it does not know. A conversation (`messages`) is sent instead
                of the pattern, which then serves the ranking in this process alone.
        """
        begin = partial(self._begin, pattern, tools, top_k, always_keep, session, loop, fields)
        call, request = await asyncio.to_thread(begin) if _is_long(tools) else begin()
        if request is not None:
            try:
                call.verdict = await request.send()
            finally:
                request.settle(call.verdict)
        return self._finish(call)

    def run_later(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run a coroutine as a task of the event loop that runs now.

        Raises:
            RuntimeError: none runs.
        """
        return asyncio.get_running_loop().create_task(work)

    async def aclose(self) -> None:
        """Close connections; a later call opens new ones."""
        if self.channel is not None:
            await self.channel.connections.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


class Selector(SelectorBase):
    """Selects tools for blocking code; safe to share between threads, a context manager.

    Settings and errors are those of `AsyncSelector`, whose coroutine runs here on an event loop in
    a separate thread.
    """

    def select(  # noqa: PLR0913  # options of the public call
        self,
        pattern: str,
        tools: Sequence[T],
        top_k: int | None = DEFAULT_TOP_K,
        always_keep: Collection[str] | None = (),
        *,
        session: str | None = None,
        loop: int = 0,
        fields: Mapping[str, Any] | None = None,
    ) -> Selection[T]:
        """Choose at most `top_k` of the tools; as `AsyncSelector.select`."""
        call, request = self._begin(pattern, tools, top_k, always_keep, session, loop, fields)
        if request is not None:
            try:
                call.verdict = self._wait(request, call.deadline)
            finally:
                request.settle(call.verdict)
        return self._finish(call)

    def _prepare(self) -> None:
        self._background = Background("toolscout-selector")

    def _wait(self, request: Request, deadline: float) -> Verdict:
        try:
            return self._background.run(request.send(), deadline)
        except TimeoutError:
            return request.give_up()
        except Closed:
            return request.give_up(closed=True)

    def run_later(self, work: Coroutine[Any, Any, None]) -> "Future[None]":
        """Run a coroutine in the separate thread."""
        return self._background.start(work)

    def close(self) -> None:
        """Close connections and end the thread; a later call starts new ones."""
        if self.channel is not None:
            self._background.close(self.channel.connections.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _is_long(tools: Sequence[Any]) -> bool:
    try:
        return len(tools) > LONG
    except Exception:  # a caller's own class
        return False
