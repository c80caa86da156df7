"""Threads with a bounded queue that never keep the process from ending.

The executors of the standard library are joined when the interpreter exits, so one long call delays
SIGTERM for as long as it runs. These threads are daemons; `any_running` tells whether calls are
still running at the end of the process.
"""

import ctypes
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

from toolscout.errors import Overloaded, TooMuchWork

P = ParamSpec("P")
T = TypeVar("T")

_pools: "WeakSet[DaemonPool]" = WeakSet()


class DaemonPool(Executor):
    """Runs calls in a few daemon threads, in the order of submission."""

    def __init__(self, threads: int, name: str, most_waiting: int | None = None) -> None:
        """Take the number of threads, and of calls that may wait; None for no limit."""
        self._threads = threads
        self._name = name
        self._most_waiting = most_waiting
        self._queue: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._ready = threading.Condition()
        self._started = 0
        self._running = 0
        self._closed = False
        _pools.add(self)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Run a call in a thread as soon as one is free.

        Raises:
            Overloaded: the queue is full.
        """
        future: Future[T] = Future()
        with self._ready:
            if self._closed:
                raise Overloaded("the service is stopping")
            if self._most_waiting is not None and len(self._queue) >= self._most_waiting:
                self._drop_cancelled()
                if len(self._queue) >= self._most_waiting:
                    raise TooMuchWork("too much work waits for a thread; try again shortly")
            self._queue.append((future, lambda: fn(*args, **kwargs)))
            if self._started < min(self._threads, self._running + len(self._queue)):
                self._started += 1
                number = f"{self._name}-{self._started}"
                threading.Thread(target=self._work, name=number, daemon=True).start()
            self._ready.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; running ones continue, and are never waited for."""
        with self._ready:
            self._closed = True
            if cancel_futures:
                for future, _ in self._queue:
                    future.cancel()
                self._queue.clear()
            self._ready.notify_all()

    @property
    def running(self) -> int:
        """Calls that run now."""
        return self._running

    def __len__(self) -> int:
        """Return the number of calls that wait for a thread."""
        return len(self._queue)

    def _drop_cancelled(self) -> None:
        self._queue = deque(entry for entry in self._queue if not entry[0].cancelled())

    def _work(self) -> None:
        while True:
            with self._ready:
                while not self._queue:
                    if self._closed:
                        return
                    self._ready.wait()
                future, call = self._queue.popleft()
                self._running += 1
            try:
                if future.set_running_or_notify_cancel():
                    settle(future, call)
            finally:
                # A waiting thread must not keep objects of its last call alive.
                del future, call
                with self._ready:
                    self._running -= 1


def settle(future: "Future[T]", call: Callable[[], T]) -> None:
    """Run `call` and store its result or exception in `future`."""
    try:
        result = call()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def any_running() -> bool:
    """Tell whether a call is running in any pool of this process."""
    return any(pool.running for pool in list(_pools))


_M_ARENA_MAX = -8


def use_one_arena() -> None:
    """Share one heap between all threads, where the library is glibc; call before there are any.

    Each thread would have one of its own, and keep what it once needed: 140 MB after heavy load.
    """
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
