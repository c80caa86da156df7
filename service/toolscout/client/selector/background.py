"""An event loop in a separate thread, so that blocking callers get the same hard cap.

A blocking read can be given a timeout, but not a name resolution, nor a server that sends a byte
just before every timeout. A task on an event loop can be abandoned at any moment.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")

JOIN_S = 1.0
"""Seconds that closing waits for the thread."""


class Closed(Exception):  # noqa: N818 - nothing went wrong
    """The work was given up because its loop was closed."""


class Background:
    """One daemon thread with one event loop, started on first use and anew after a fork."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._finalizer: weakref.finalize[Any, Any] | None = None

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start a coroutine; `close` cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def run(self, work: Coroutine[Any, Any, T], deadline: float) -> T:
        """Run a coroutine to its end, or cancel it at the deadline (monotonic seconds).

        Raises:
            TimeoutError: the deadline came first; the work is cancelled.
            Closed: it was closed meanwhile.
        """
        future = self.start(work)
        try:
            return future.result(max(deadline - monotonic(), 0.0))
        except CancelledError:
            raise Closed from None
        finally:
            future.cancel()

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Run a last coroutine, if any ran here before, and end the thread."""
        with self._lock:
            loop, thread = self._loop, self._thread
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
                self._loop, self._pid = loop, os.getpid()
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
