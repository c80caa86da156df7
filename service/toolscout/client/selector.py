"""`Selector` and `AsyncSelector`: ask the service which tools to show.

Whatever the service or the network does, a call returns within its timeout with a usable list of
tools: the service's choice, checked against the tools that were offered, or all of them.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextvars import copy_context
from functools import partial
from time import monotonic
from typing import Any, Never, Self, TypeVar

from toolscout.client.call import SearchCall
from toolscout.client.connections import CLOSED, HttpReply, explain_timeout
from toolscout.client.selection import Selection, T
from toolscout.client.settings import SelectorBase, check_options
from toolscout.contract.fields import DEFAULT_TOP_K

R = TypeVar("R")

LONG = 1_000
"""Tools from which a list is read and encoded beside the event loop: 10,000 take 0.1 s."""


class AsyncSelector(SelectorBase):
    """Selects tools for asyncio code; one instance serves any number of tasks.

    The settings are those of `SelectorBase`; an asynchronous context manager.
    """

    async def select(  # noqa: PLR0913  # options of the public call
        self,
        pattern: str | Sequence[Any],
        tools: Sequence[T],
        top_k: int | None = DEFAULT_TOP_K,
        always_keep: Collection[str] | None = (),
        *,
        session: str | None = None,
        loop: int = 0,
        fields: Mapping[str, Any] | None = None,
        **unknown: Never,
    ) -> Selection[T]:
        """Choose at most `top_k` of the tools; raises for unknown arguments alone.

        Args:
            pattern: prose, keywords, a tool name or a regular expression; or the content parts of
                a message, of which the texts count.
            tools: any provider's shape; dicts, dataclasses, pydantic models. At most `top_k` of
                them come back as they were, unless `fields` filters them.
            top_k: most names to choose; less than 1 is taken as 5, as the proxies do.
            always_keep: names to choose always, within `top_k`.
            session: the key of the call in a `percent` rollout; without one each call has its own.
            loop: number of the search within one model turn; only reported.
            fields: further fields of the request, such as `ranker`, `filters` or `min_score`; a
                service ignores those it does not know. A conversation (`messages`) is sent instead
                of the pattern, which then serves the ranking in this process alone.
            unknown: none; a name that is no argument is refused with the one that is meant.
        """
        check_options(self, unknown, self._begin)
        begin = partial(self._begin, pattern, tools, top_k, always_keep, session, loop, fields)
        call = await self._begin_in_thread(begin) if _is_long(tools) else begin()
        if self.channel is not None:
            for sent in self.channel.sent_for(call):
                reply = None
                try:
                    reply = await self.channel.send(sent)
                finally:
                    self.channel.finish_call(sent, reply)
        return self._finish(call)

    async def _begin_in_thread(self, begin: Callable[[], SearchCall]) -> SearchCall:
        context = copy_context()
        begun = asyncio.get_running_loop().run_in_executor(None, context.run, begin)
        try:
            return await asyncio.shield(begun)
        except asyncio.CancelledError:
            begun.add_done_callback(self._withdraw)
            raise

    def _withdraw(self, begun: "asyncio.Future[SearchCall]") -> None:
        """Give back the ticket of a call that was cancelled while it began."""
        if begun.cancelled() or begun.exception() is not None:
            return
        ticket = begun.result().ticket
        if ticket is not None:
            self.breaker.withdraw(ticket)

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

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Selector(SelectorBase):
    """Selects tools for blocking code; safe to share between threads, a context manager.

    Settings and errors are those of `AsyncSelector`, whose coroutine runs here on an event loop in
    a separate thread.
    """

    def select(  # noqa: PLR0913  # options of the public call
        self,
        pattern: str | Sequence[Any],
        tools: Sequence[T],
        top_k: int | None = DEFAULT_TOP_K,
        always_keep: Collection[str] | None = (),
        *,
        session: str | None = None,
        loop: int = 0,
        fields: Mapping[str, Any] | None = None,
        **unknown: Never,
    ) -> Selection[T]:
        """Choose at most `top_k` of the tools; as `AsyncSelector.select`."""
        check_options(self, unknown, self._begin)
        call = self._begin(pattern, tools, top_k, always_keep, session, loop, fields)
        if self.channel is not None:
            # The loop gives up at the deadline; this thread waits a little longer for it.
            latest = call.deadline + self.reserve / 2
            for sent in self.channel.sent_for(call):
                reply: HttpReply | None = None
                try:
                    reply = self._background.run(self.channel.send(sent), latest)
                except TimeoutError:
                    reply = explain_timeout(sent.times)
                except CancelledError:
                    reply = CLOSED
                finally:
                    self.channel.finish_call(sent, reply)
        return self._finish(call)

    def _prepare(self) -> None:
        self._background = Background("toolscout-selector")

    def run_later(self, work: Coroutine[Any, Any, None]) -> "Future[None]":
        """Run a coroutine in the separate thread."""
        return self._background.start(work)

    def close(self) -> None:
        """Close connections and end the thread; a later call starts new ones."""
        if self.channel is not None:
            self._background.close(self.channel.connections.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_long(tools: Sequence[Any]) -> bool:
    try:
        return len(tools) > LONG
    except Exception:  # a caller's own class
        return False


JOIN_S = 1.0
"""Seconds that closing waits for the thread."""


class Background:
    """One daemon thread with one event loop, started on first use and anew after a fork.

    A blocking read can be given a timeout, but not a name resolution, nor a server that sends a
    byte just before every timeout. A task on an event loop can be abandoned at any moment.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._finalizer: weakref.finalize[Any, Any] | None = None

    def start(self, work: Coroutine[Any, Any, R]) -> "Future[R]":
        """Start a coroutine; `close` cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def run(self, work: Coroutine[Any, Any, R], deadline: float) -> R:
        """Run a coroutine to its end, or cancel it at the deadline (monotonic seconds).

        Raises:
            TimeoutError: the deadline came first; the work is cancelled.
            CancelledError: it was closed meanwhile.
        """
        future = self.start(work)
        try:
            return future.result(max(deadline - monotonic(), 0.0))
        finally:
            future.cancel()

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Run a last coroutine, if any ran here before, and end the thread."""
        with self._lock:
            loop = self._loop
            thread = self._thread
            self._loop = self._thread = None
            alive = loop is not None and self._pid == os.getpid()
        if not alive or loop is None or thread is None:
            last.close()
            return
        future = asyncio.run_coroutine_threadsafe(last, loop)
        try:
            future.result(JOIN_S)
        except TimeoutError:
            future.cancel()
        _stop(loop)
        thread.join(JOIN_S)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(loop,), name=self._name, daemon=True
                )
                self._thread.start()
                self._loop = loop
                self._pid = os.getpid()
                self._finalizer = weakref.finalize(self, _stop, loop)
                self._finalizer.atexit = False  # a daemon thread ends with the process
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=JOIN_S))
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
