"""Admission: refuse early what could not be answered in time.

The event loop is the queue: a request that was accepted waits until the loop gets to it. So
requests are counted when their headers arrive, before the body is read, and the lag of the loop
is watched. Past either limit a new request gets 503 with Retry-After at once, and those that are
already in keep their latency. Probes and metrics do not pass through here, nor do callers without
a valid key.

Slots, the bytes of bodies and the room for unknown tools are shared fairly between tenants
(`fairness`): when they are scarce, 503 goes to the tenant that uses more than its share.

The loop is late by no more than the time for which there were requests: a process that was stopped
with nothing to do (SIGSTOP, a frozen machine) refuses nobody when it goes on.

Unknown tools are read and scanned in threads, which have a queue of their own: a request that would
wait there for longer than its latency budget is refused as well.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from toolscout.errors import Overloaded
from toolscout.ranking.ladder import Costs
from toolscout.server.http.fairness import Shares, ahead

PROBE_S = 0.02
"""How often the lag of the event loop is measured."""

FEW = 8
"""Requests with unknown tools that are read however long it takes: late words beat no answer. The
active tenants share them."""

PATIENCE = 4
"""At how many times the permitted lag those are refused who send no more than others."""


class BytesInFlight(Overloaded):
    """The bodies of other requests take all the memory there is for bodies."""

    reason = "bytes_in_flight"


class Slot:
    """The place of one request among those that are being answered."""

    def __init__(self, tenant: str, nbytes: Shares) -> None:
        self.tenant = tenant
        self.held = 0
        """Bytes of its body."""
        self._nbytes = nbytes

    def hold(self, nbytes: int) -> None:
        """Count a part of the body that is now in memory.

        Raises:
            BytesInFlight: there is no room for it.
        """
        if not self._nbytes.take(self.tenant, nbytes):
            raise BytesInFlight("too many bytes at once; try again shortly")
        self.held += nbytes


class Admission:
    """Counts requests in flight and measures how late the event loop runs."""

    def __init__(self, max_in_flight: int, max_lag_ms: float, max_bytes: int = 1 << 30) -> None:
        self._max_lag = max_lag_ms / 1_000
        self._slots = Shares(max_in_flight)
        self._bytes = Shares(max_bytes)
        self.lag = 0.0
        self._reading: Counter[str] = Counter()
        self._backlog_kib: dict[str, float] = {}
        """Unknown tools that are being read and scanned, by tenant."""
        self._due = 0.0
        self._busy = 0.0
        """Seconds with requests in flight since the last probe, up to `_busy_since`."""
        self._busy_since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to measure the lag; call from the running loop."""
        self._due = perf_counter() + PROBE_S
        self._timer = asyncio.get_running_loop().call_later(PROBE_S, self._probe)

    def stop(self) -> None:
        """Measure no more."""
        if self._timer is not None:
            self._timer.cancel()

    @property
    def in_flight(self) -> int:
        """Requests that are being answered."""
        return self._slots.used

    def serve(self, tenants: int) -> None:
        """Share everything between this many tenants at most."""
        self._slots.tenants = self._bytes.tenants = tenants

    def enter(self, tenant: str) -> Slot | str:
        """Give a new request its slot, or say why it cannot have one now."""
        sends_most = self._slots.ask(tenant)
        # The lag so far of a probe that is overdue counts too: it says how late it is now.
        lag = max(self.lag, self._late(perf_counter()))
        if lag > (self._max_lag if sends_most else PATIENCE * self._max_lag):
            return "loop_lag"
        is_first = not self.in_flight
        if not self._slots.take(tenant):
            return "in_flight"
        if is_first:
            self._busy_since = perf_counter()
        return Slot(tenant, self._bytes)

    def leave(self, slot: Slot) -> None:
        """Take back the slot of a request that was answered, and what its body took."""
        self._slots.give(slot.tenant)
        self._bytes.give(slot.tenant, slot.held)
        if not self.in_flight:
            self._busy += perf_counter() - self._busy_since

    @contextmanager
    def unknown_tools(
        self, tenant: str, kib: float, costs: Costs, left_ms: float
    ) -> Iterator[None]:
        """While that much of unknown tools is read and scanned, the tenants in turn.

        Raises:
            Overloaded: others wait, and with them it would take longer than there is time left.
        """
        backlog = self._backlog_kib
        backlog[tenant] = backlog.get(tenant, 0.0) + kib
        waiting = ahead(backlog, tenant)
        needed_ms = costs.expected("read", waiting) + self.lag * 1_000
        few = max(1, FEW // self._slots.active(tenant))
        self._reading[tenant] += 1
        try:
            if self._reading[tenant] > few and needed_ms > left_ms:
                raise Overloaded("too many unknown tools at once; try again shortly")
            began = perf_counter()
            yield
            # What was ahead of it is part of the time it took.
            costs.learn("read", (perf_counter() - began) * 1_000 / waiting)
        finally:
            self._reading[tenant] -= 1
            backlog[tenant] -= kib
            if not self._reading[tenant]:
                del self._reading[tenant], backlog[tenant]

    def _probe(self) -> None:
        now = perf_counter()
        late = max(0.0, self._late(now))
        self._busy, self._busy_since = 0.0, now
        # Fast up, slow down: one late probe is enough to notice, a few good ones to forget.
        self.lag = late if late > self.lag else 0.5 * (self.lag + late)
        self._due = now + PROBE_S
        self._timer = asyncio.get_running_loop().call_later(PROBE_S, self._probe)

    def _late(self, now: float) -> float:
        """How late the probe is, as far as there were requests meanwhile."""
        busy = self._busy + (now - self._busy_since if self.in_flight else 0.0)
        return min(now - self._due, busy)
