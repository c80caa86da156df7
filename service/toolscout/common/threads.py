"""Threads that take their work from the tenants in turn, and never keep the process from ending.

The executors of the standard library are joined when the interpreter exits, so one long call delays
SIGTERM for as long as it runs. These threads are daemons; `is_any_running` tells whether calls are
still running at the end of the process.
"""

import ctypes
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

from toolscout.errors import TooMuchWork

P = ParamSpec("P")
T = TypeVar("T")

_pools: "WeakSet[FairPool]" = WeakSet()


class FairPool:
    """Runs calls in a few daemon threads, those of one tenant in the order of submission."""

    def __init__(
        self,
        threads: int,
        name: str,
        size_of: Callable[..., int] | None = None,
        most_waiting: int | None = None,
    ) -> None:
        """Start with no thread.

        Args:
            threads: at most.
            name: of the threads.
            size_of: what a call of these arguments takes. With it, every second call is a tenant's
                smallest, which need not wait for many large ones, and the others its oldest.
            most_waiting: calls that may wait; None for no limit.
        """
        self._threads = threads
        self._name = name
        self._most_waiting = most_waiting
        self._size_of = size_of
        self._is_smallest_next = False
        self._queues: dict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = {}
        """Calls that wait, by tenant; the first tenant is the next."""
        self._sizes: dict[Future[Any], int] = {}
        self._ready = threading.Condition()
        self._started = self._waiting = 0
        self.running = 0
        """Calls that run now."""
        _pools.add(self)

    def submit(
        self, tenant: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> "Future[T]":
        """Run a call in a thread as soon as one is free, after the tenant's earlier ones.

        Raises:
            TooMuchWork: the queue is full.
        """
        future: Future[T] = Future()
        with self._ready:
            if self._waiting == self._most_waiting:
                raise TooMuchWork("too much work waits for a thread; try again shortly")
            queue = self._queues.setdefault(tenant, deque())
            queue.append((future, lambda: work(*args, **kwargs)))
            if self._size_of is not None:
                self._sizes[future] = self._size_of(*args, **kwargs)
            self._waiting += 1
            if self._started < min(self._threads, self.running + self._waiting):
                self._started += 1
                number = f"{self._name}-{self._started}"
                threading.Thread(target=self._work, name=number, daemon=True).start()
            self._ready.notify()
        return future

    def prioritize(self, future: "Future[Any]") -> None:
        """Count a waiting call as smaller than any other of its tenant."""
        with self._ready:
            if future in self._sizes:
                self._sizes[future] = 0

    def _work(self) -> None:
        while True:
            with self._ready:
                self._ready.wait_for(lambda: self._waiting)
                tenant = next(iter(self._queues))
                queue = self._queues.pop(tenant)
                place = 0
                if self._is_smallest_next:
                    place = min(range(len(queue)), key=lambda at: self._sizes[queue[at][0]])
                self._is_smallest_next = self._size_of is not None and not self._is_smallest_next
                future, call = queue[place]
                del queue[place]
                self._sizes.pop(future, None)
                if queue:
                    self._queues[tenant] = queue  # behind the others
                self._waiting -= 1
                self.running += 1
            _settle(future, call)
            # A waiting thread must not keep objects of its last call alive.
            del future, call
            with self._ready:
                self.running -= 1


def _settle(future: "Future[T]", call: Callable[[], T]) -> None:
    """Run a call and store its result or exception, unless nobody wants it any more."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def is_any_running() -> bool:
    """Tell whether a call is running in any pool of this process."""
    return any(pool.running for pool in list(_pools))


_M_ARENA_MAX = -8


_PR_SET_PDEATHSIG = 1


def use_one_arena() -> None:
    """Share one heap between all threads, where the library is glibc; call before there are any.

    Each thread would have one of its own, and keep what it once needed: 140 MB after heavy load.
    """
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def trim_heap() -> None:
    """Give the system what the heap holds free, where the library is glibc.

    Of 170 MB that is 3 ms, for which other threads wait with what they allocate.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def end_with_parent(how: int) -> None:
    """Get a signal when the parent process ends, however it does; on Linux alone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, how)
