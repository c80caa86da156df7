"""Long work beside the event loop, in threads of its own: few of them, a bounded queue, a deadline.

asyncio's shared pool is left to what is short (files, certificates): work whose length a caller
decides would block it for everybody. Regular expressions have their own threads, since RE2 releases
the interpreter lock and a scan may wait for one of them without holding up anything else.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from time import perf_counter
from typing import ParamSpec, TypeVar

from toolscout.common.threads import FairPool
from toolscout.errors import TooMuchWork

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 4
"""Calls that run at a time. They share one interpreter lock, so more would only each be slower."""

MOST_WAITING = 256
"""Calls that wait for a thread, `max_in_flight` by default; more are refused (503)."""

DEADLINE_S = 10.0
"""Seconds after which a call is no longer waited for (503), and in which it should end."""

TOO_LATE = "not done in time: this process is busy, or it is much work; try again shortly"

TENANT: ContextVar[str] = ContextVar("tenant", default="")
"""Whose request the running task answers: tenants take turns at the threads."""

WORK = FairPool(THREADS, "work", most_waiting=MOST_WAITING)
SCANS = FairPool(max(1, (os.cpu_count() or 2) // 2), "scan")
"""Half of the cores: the event loop keeps one, however many patterns are matched."""


async def run_in_thread(
    work: Callable[P, T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Run a call in a thread of the service's own pool.

    Raises:
        TooMuchWork: too many wait for a thread, or the call took longer than `DEADLINE_S`.
    """
    return await wait_in_time(asyncio.wrap_future(WORK.submit(TENANT.get(), work, *args, **kwargs)))


async def wait_in_time(work: Awaitable[T], seconds: float = DEADLINE_S, late: str = TOO_LATE) -> T:
    """Wait for work.

    Raises:
        TooMuchWork: it took longer; `late` says so.
    """
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise TooMuchWork(late) from None


async def run_inline_or_in_thread(
    cost: int, inline_limit: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run a call, in a thread if `cost` is more than `inline_limit`.

    For little work the way into a thread and back would cost more than the work.

    Raises:
        TooMuchWork: as for `run_in_thread`.
    """
    if cost <= inline_limit:
        return work(*args, **kwargs)
    return await run_in_thread(work, *args, **kwargs)


class Deadline:
    """A pause for long work that ends it when it is late."""

    def __init__(self, seconds: float = DEADLINE_S) -> None:
        self._until = perf_counter() + seconds

    def __call__(self) -> None:
        """Check the time.

        Raises:
            TooMuchWork: it is late.
        """
        if perf_counter() > self._until:
            raise TooMuchWork(TOO_LATE)
