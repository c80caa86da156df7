"""Admission: refuse requests early that could not be answered in time.

The event loop is the queue: a request that was accepted waits until the loop gets to it. So
requests are counted when their headers arrive, before the body is read, and the lag of the loop
is watched. Beyond either limit a new request immediately gets 503 with Retry-After, and admitted
ones keep their latency. Probes, metrics and callers without a valid key do not pass through here.

Slots, the bytes of bodies and the room for unknown tools are shared fairly between tenants
(`fairness`): when they are scarce, 503 goes to the tenant that uses more than its share.

The lag is the mean of the last few measurements, and counts only while there are requests: an idle
process that was stopped (SIGSTOP, a frozen machine) refuses nobody when it resumes.

Unknown tools are read and scanned in threads with a separate queue: a request that would wait there
for longer than its latency budget is refused as well.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, perf_counter

from toolscout.common.fairness import RESERVE, Shares, sum_ahead
from toolscout.errors import Overloaded
from toolscout.ranking.ladder import Costs

PROBE_S = 0.02
"""Seconds between measurements of the event loop's lag."""

PROBES = 4
"""Measurements whose mean is the lag: on a busy machine a process may wait half a second for a core
and be in time again, which is no overload.
"""

ALWAYS_ADMITTED = 8
"""Number of requests with unknown tools, shared by the active tenants, that are read at any cost,
because a late answer is better than none.
"""

MAX_HELD_BYTES = 256 * 1024 * 1024
"""Bytes of bodies that are being read or answered; more get 503. Tenants share them like slots."""

LARGEST_BODY = MAX_HELD_BYTES - MAX_HELD_BYTES // RESERVE
"""Bytes of one body that always come to have room: whatever is larger never would."""

PATIENCE = 4
"""Multiple of the permitted lag at which tenants that send no more than others are refused."""


class BytesInFlight(Overloaded):
    """The bodies of other requests use all of `MAX_HELD_BYTES`."""

    reason = "bytes_in_flight"


class AdmissionSlot:
    """The place of one request among those in flight."""

    def __init__(self, tenant: str, nbytes: Shares) -> None:
        self.tenant = tenant
        self.held = 0
        """Bytes of its body."""
        self._nbytes = nbytes

    def hold(self, nbytes: int) -> None:
        """Count a part of the body that is in memory.

        Raises:
            BytesInFlight: there is no room for it.
        """
        if not self._nbytes.take(self.tenant, nbytes):
            raise BytesInFlight("too many bytes at once; try again shortly")
        self.held += nbytes


class Admission:
    """Counts requests in flight and measures how late the event loop runs."""

    def __init__(
        self, max_in_flight: int, max_lag_ms: float, max_bytes: int = MAX_HELD_BYTES
    ) -> None:
        self._max_lag = max_lag_ms / 1_000
        self._slots = Shares(max_in_flight)
        self._bytes = Shares(max_bytes)
        self._measured = deque([0.0] * PROBES, PROBES)
        """By how many seconds the latest probes were late."""
        self.lag = 0.0
        """How late the event loop has run lately, in seconds: their mean."""
        self._reading: dict[str, list[float]] = {}
        """Unknown lists that are being read and scanned, by tenant, in KiB."""
        self._due = 0.0
        self._busy = 0.0
        """Seconds with requests in flight since the last probe, up to `_busy_since`."""
        self._busy_since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start measuring the lag; call from the running loop."""
        self._due = perf_counter() + PROBE_S
        self._timer = asyncio.get_running_loop().call_later(PROBE_S, self._probe)

    def stop(self) -> None:
        """Stop measuring."""
        if self._timer is not None:
            self._timer.cancel()

    @property
    def in_flight(self) -> int:
        """Requests that are being answered."""
        return self._slots.used

    def serve(self, tenants: int) -> None:
        """Set the number of tenants that share everything."""
        self._slots.tenants = self._bytes.tenants = tenants

    def enter(self, tenant: str) -> AdmissionSlot | str:
        """Give a new request a slot, or return the reason for a refusal."""
        sends_most = self._slots.ask(tenant)
        # A probe that is overdue takes the place of the oldest.
        more = self._measure_lateness(perf_counter()) - self._measured[0]
        lag = self.lag + max(0.0, more) / PROBES
        if lag > (self._max_lag if sends_most else PATIENCE * self._max_lag):
            return "loop_lag"
        is_first = not self.in_flight
        if not self._slots.take(tenant):
            return "in_flight"
        if is_first:
            self._busy_since = perf_counter()
        return AdmissionSlot(tenant, self._bytes)

    def leave(self, slot: AdmissionSlot) -> None:
        """Release the slot of a finished request, and the bytes of its body."""
        self._slots.give(slot.tenant)
        self._bytes.give(slot.tenant, slot.held)
        if not self.in_flight:
            self._busy += perf_counter() - self._busy_since

    @contextmanager
    def count_unknown(
        self, tenant: str, kib: float, costs: Costs, left_ms: float
    ) -> Iterator[None]:
        """Count unknown tools while they are read and scanned; tenants take turns.

        Raises:
            Overloaded: with the requests before it, it would not be finished in time.
        """
        mine = self._reading.setdefault(tenant, [])
        mine.append(kib)
        waiting = sum_ahead({name: sum(lists) for name, lists in self._reading.items()}, tenant)
        needed_ms = costs.expected("read", waiting) + self.lag * 1_000
        few = max(1, ALWAYS_ADMITTED // self._slots.active(tenant))
        try:
            if len(mine) > few and needed_ms > left_ms:
                raise Overloaded("too many unknown tools at once; try again shortly")
            began = perf_counter()
            yield
            # The time includes the work that was ahead of it.
            costs.learn("read", (perf_counter() - began) * 1_000 / waiting)
        finally:
            mine.remove(kib)
            if not mine:
                del self._reading[tenant]

    def note_lateness(self, seconds: float) -> None:
        """Note by how much a probe was late."""
        self._measured.append(seconds)
        self.lag = sum(self._measured) / PROBES

    def _probe(self) -> None:
        now = perf_counter()
        self.note_lateness(max(0.0, self._measure_lateness(now)))
        self._busy = 0.0
        self._busy_since = now
        self._due = now + PROBE_S
        self._timer = asyncio.get_running_loop().call_later(PROBE_S, self._probe)

    def _measure_lateness(self, now: float) -> float:
        """Return how late the probe is, counting only time with requests."""
        busy = self._busy + (now - self._busy_since if self.in_flight else 0.0)
        return min(now - self._due, busy)


BURST_S = 1.0
"""Size of a burst, in seconds of the rate."""


class RateLimit:
    """One token bucket per tenant of the configured keys.

    Requests are counted in this process alone, so that they wait for no shared state. Over several
    processes a balancer limits.
    """

    def __init__(self, per_second: float, clock: Callable[[], float] = monotonic) -> None:
        """Allow each tenant `per_second` requests; 0 allows any number."""
        self._rate = per_second
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, tenant: str) -> float:
        """Count one request; returns 0, or the seconds until the next may be allowed."""
        if not self._rate:
            return 0.0
        now = self._clock()
        size = max(1.0, self._rate * BURST_S)
        left, since = self._buckets.get(tenant, (size, now))
        left = min(size, left + max(0.0, now - since) * self._rate)
        if left < 1.0:
            self._buckets[tenant] = left, now
            return (1.0 - left) / self._rate
        self._buckets[tenant] = left - 1.0, now
        return 0.0
