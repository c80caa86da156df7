"""Guard a store by a time limit, and by a breaker after failures.

Callers always get an answer or `StoreUnavailable` within the limit. After a few failures in a row
the store is not called for a while, so that a dead one costs nothing. Reads and writes fail
separately: a full disk can still be read. What the store answers and refuses, as it is full or a
value of another kind, is no failure of the store.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast

from toolscout.state.store import StateStore, StoreRefused, StoreUnavailable

FAILURES = 3
"""Failures in a row after which the store is not called."""

PAUSE_S = 1.0
MAX_PAUSE_S = 5.0
"""Maximum pause in seconds; a pause doubles each time the next try fails too. So much longer than
the store is away, and than the last try takes to fail, writes may stay refused."""


READS = frozenset({"get", "has_entry", "keys", "logs", "now", "read", "risk", "share"})
"""Actions that change nothing."""

WRITES = frozenset({"append", "delete", "drop", "put", "remove", "swap"})


@dataclass(slots=True)
class _Circuit:
    """The recent failures of one kind of action."""

    failures: int = 0
    pause_s: float = PAUSE_S
    closed_until: float = 0.0


class Guard:
    """Runs actions on a store within a limit of time.

    Args:
        store: the guarded store, also an attribute, for its end.
        failed: called with the name of each action that fails.
    """

    def __init__(
        self,
        store: StateStore,
        failed: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.store = store
        self.failed = failed
        self.clock = clock
        self._reads = _Circuit()
        self._writes = _Circuit()

    def is_open(self, name: str) -> bool:
        """Whether actions of this kind are paused."""
        return self.clock() < self._get_circuit(name).closed_until

    def _get_circuit(self, name: str) -> _Circuit:
        return self._reads if name in READS else self._writes

    def within(self, limit_s: float) -> StateStore:
        """Return the store so that each action ends within a limit, in seconds.

        An action raises `StoreUnavailable` if it failed, took longer, or is paused.
        """
        actions = {name: partial(self._run, name, limit_s) for name in READS | WRITES}
        return cast(StateStore, SimpleNamespace(**actions))

    async def _run(self, name: str, limit_s: float, *args: Any, **options: Any) -> Any:
        if self.is_open(name):
            raise StoreUnavailable("left alone after failures")
        circuit = self._get_circuit(name)
        try:
            # Not wait_for, which loses a cancellation at the moment when the action ends.
            async with asyncio.timeout(limit_s):
                result = await getattr(self.store, name)(*args, **options)
        except StoreRefused:  # it says nothing of what others ask, and is the operator's to mend
            self.failed(name)
            raise
        except (StoreUnavailable, TimeoutError) as error:
            self.failed(name)
            circuit.failures += 1
            # Actions that were running when the circuit opened fail too, and do not count.
            if circuit.failures >= FAILURES and not self.is_open(name):
                circuit.closed_until = self.clock() + circuit.pause_s
                circuit.pause_s = min(2 * circuit.pause_s, MAX_PAUSE_S)
            if isinstance(error, TimeoutError):
                raise StoreUnavailable(f"no answer within {limit_s:g} s") from None
            raise
        circuit.failures = 0
        circuit.pause_s = PAUSE_S
        return result
