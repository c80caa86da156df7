"""The circuit breaker: a service that keeps failing is not called for a while.

The circuit is closed until five calls in a row fail, or half of the last twenty; then it is open
for five seconds. After that one call goes through as a probe: success closes the circuit, failure
opens it for twice as long, up to a minute. The pauses vary by a fifth, so that many clients of one
service do not all probe it at once.

Retries add at most a tenth to the load, in every outage.
"""

import math
import random
import threading
from collections import deque
from dataclasses import dataclass

from toolscout.errors import InvalidArgument, check_count


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When the circuit opens, and for how long."""

    consecutive: int = 5
    """Failures in a row that open it."""
    window: int = 20
    """Number of last calls in the ratio."""
    ratio: float = 0.5
    """Share of failures among them that opens it, once there are that many; above 1 never."""
    first_pause_s: float = 5.0
    longest_pause_s: float = 60.0
    jitter: float = 0.2
    """Pauses are multiplied by a random factor within 1 ± this."""

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            InvalidArgument: one is out of bounds.
        """
        for name in ("consecutive", "window"):
            check_count(f"breaker.{name}", getattr(self, name), 1)
        for name in ("ratio", "first_pause_s", "longest_pause_s", "jitter"):
            number = getattr(self, name)
            most = 1.0 if name == "jitter" else math.inf
            if not isinstance(number, int | float) or not 0.0 <= number <= most:
                raise InvalidArgument(f"breaker.{name}: expected a number from 0.0 to {most}")


class CircuitBreaker:
    """The state of one circuit; thread-safe. Callers pass the time: seconds, any origin."""

    def __init__(self, policy: BreakerPolicy | None = None) -> None:
        self.policy = policy or BreakerPolicy()
        self._lock = threading.Lock()
        self._recent: deque[bool] = deque(maxlen=self.policy.window)
        self._in_a_row = 0
        self._pause_s = 0.0
        self._open_until: float | None = None
        self._probing = False
        self.generation = 0
        """Number of times that the circuit has opened or closed."""

    def admit(self, now: float) -> int | None:
        """Ask to make a call; return a ticket for `record`, or None if the circuit is open."""
        with self._lock:
            if self._open_until is not None:
                if self._probing or now < self._open_until:
                    return None
                self._probing = True
            return self.generation

    def record(self, ticket: int, failed: bool, now: float) -> None:
        """Record how an admitted call ended.

        Calls that were admitted before the circuit last changed are ignored.
        """
        with self._lock:
            if ticket != self.generation:
                return
            if self._open_until is not None:
                self._probing = False
                self._change(failed, now)
                return
            self._recent.append(failed)
            self._in_a_row = self._in_a_row + 1 if failed else 0
            if failed and self._too_many():
                self._change(True, now)

    def withdraw(self, ticket: int) -> None:
        """Return a ticket unused, because the call was abandoned without a result."""
        with self._lock:
            if ticket == self.generation:
                self._probing = False

    @property
    def is_open(self) -> bool:
        """Whether calls are refused, or only a probe is let through."""
        return self._open_until is not None

    @property
    def failures(self) -> int:
        """Failed calls among the last ones, since the circuit last changed."""
        return sum(self._recent)

    def _too_many(self) -> bool:
        policy = self.policy
        if self._in_a_row >= policy.consecutive:
            return True
        return len(self._recent) >= policy.window and (
            sum(self._recent) >= policy.ratio * len(self._recent)
        )

    def _change(self, opening: bool, now: float) -> None:
        policy = self.policy
        self.generation += 1
        self._recent.clear()
        self._in_a_row = 0
        if not opening:
            self._open_until = None
            self._pause_s = 0.0
            return
        self._pause_s = min(self._pause_s * 2 or policy.first_pause_s, policy.longest_pause_s)
        spread = random.uniform(1 - policy.jitter, 1 + policy.jitter)  # noqa: S311 - no secret
        self._open_until = now + self._pause_s * spread


RETRY_SHARE = 0.1
"""Retries per call."""

RETRIES_SAVED = 10.0
"""Maximum number of retries saved up for a burst."""


class RetryBudget:
    """Every call adds a tenth of a retry; the budget starts with one. Thread-safe.

    So retries ≤ max(1, calls / 10), from the first call on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._balance = 1.0
        self._owed = 1.0

    def deposit(self) -> None:
        """Add the share of one call."""
        with self._lock:
            if self._owed > 1e-9:
                self._owed -= RETRY_SHARE
            else:
                self._balance = min(self._balance + RETRY_SHARE, RETRIES_SAVED)

    def withdraw(self) -> bool:
        """Take one retry, if there is one."""
        with self._lock:
            if self._balance < 1.0 - 1e-9:
                return False
            self._balance -= 1.0
            return True
