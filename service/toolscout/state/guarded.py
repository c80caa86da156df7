"""A store that never holds a request up: a time limit, and a breaker after failures.

Whatever the store does, callers get an answer or `StoreUnavailable` within the limit, and go on
without it. After a few failures in a row it is left alone for a while, so that a dead store costs
nothing at all. Reads and writes are told apart: a disk that is full can still be read.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from toolscout.state.store import StateStore, StoreUnavailable

T = TypeVar("T")

FAILURES = 3
"""Failures in a row after which the store is left alone."""

PAUSE_S = 1.0
MAX_PAUSE_S = 30.0
"""How long it is left alone: doubled each time the next try fails too."""


READS = frozenset({"get", "keys", "read", "share"})
"""Actions that change nothing."""


@dataclass(slots=True)
class _Circuit:
    """How one kind of action has gone lately."""

    failures: int = 0
    pause_s: float = PAUSE_S
    closed_until: float = 0.0


class Guard:
    """Runs actions on a store within a limit of time.

    Args:
        store: what is guarded; also reachable as `store`, for work that no request waits for.
        failed: told the name of the action each time one fails.
    """

    def __init__(
        self,
        store: StateStore,
        failed: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.store = store
        self._failed = failed
        self._clock = clock
        self._reads, self._writes = _Circuit(), _Circuit()

    def is_open(self, name: str) -> bool:
        """Whether the store is being left alone with actions of this kind."""
        return self._clock() < self._circuit(name).closed_until

    def _circuit(self, name: str) -> _Circuit:
        return self._reads if name in READS else self._writes

    async def run(self, name: str, action: Awaitable[T], limit_s: float) -> T:
        """Await an action of the store.

        Raises:
            StoreUnavailable: it failed, took longer than `limit_s`, or the store is left alone.
        """
        if self.is_open(name):
            if asyncio.iscoroutine(action):
                action.close()
            raise StoreUnavailable("left alone after failures")
        circuit = self._circuit(name)
        try:
            # Not wait_for, which loses a cancellation that comes as the action ends.
            async with asyncio.timeout(limit_s):
                result = await action
        except (StoreUnavailable, TimeoutError) as error:
            self._failed(name)
            circuit.failures += 1
            # What was under way as the store was given up fails too, and says nothing new.
            if circuit.failures >= FAILURES and not self.is_open(name):
                circuit.closed_until = self._clock() + circuit.pause_s
                circuit.pause_s = min(2 * circuit.pause_s, MAX_PAUSE_S)
            if isinstance(error, TimeoutError):
                raise StoreUnavailable(f"no answer within {limit_s:g} s") from None
            raise
        circuit.failures, circuit.pause_s = 0, PAUSE_S
        return result
