"""Rate limits: a token bucket for each tenant.

Requests are counted in this process alone, so that they wait for no shared state; behind a balancer
with N processes a tenant gets up to N times as much.
"""

from collections.abc import Callable
from time import monotonic

BURST_S = 1.0
"""Size of a burst, in seconds of the rate."""


class RateLimit:
    """One bucket per tenant of the configured keys."""

    def __init__(self, per_second: float, clock: Callable[[], float] = monotonic) -> None:
        """Allow each tenant `per_second` requests; 0 allows any number."""
        self._rate = per_second
        self._size = max(1.0, per_second * BURST_S)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, tenant: str) -> float:
        """Count one request; returns 0, or the seconds until the next is allowed."""
        if not self._rate:
            return 0.0
        now = self._clock()
        left, since = self._buckets.get(tenant, (self._size, now))
        left = min(self._size, left + max(0.0, now - since) * self._rate)
        if left < 1.0:
            self._buckets[tenant] = left, now
            return (1.0 - left) / self._rate
        self._buckets[tenant] = left - 1.0, now
        return 0.0
