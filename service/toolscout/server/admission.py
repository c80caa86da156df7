"""Admission: refuse early what could not be answered in time.

The event loop is the queue: a request that was accepted waits until the loop gets to it. So
requests are counted when their headers arrive, before the body is read, and the lag of the loop
is watched. Past either limit a new request gets 503 with Retry-After at once, and those that are
already in keep their latency. Probes and metrics do not pass through here.

The loop is late by no more than the time for which there were requests: a process that was stopped
with nothing to do (SIGSTOP, a frozen machine) refuses nobody when it goes on.

Unknown tools are read and scanned in threads, which have a queue of their own: a request that would
wait there for longer than its latency budget is refused as well.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from toolscout.errors import Overloaded
from toolscout.ranking.ladder import Costs

PROBE_S = 0.02
"""How often the lag of the event loop is measured."""

FEW = 8
"""Requests with unknown tools that are read however long it takes: late words beat no answer."""


class Admission:
    """Counts requests in flight and measures how late the event loop runs."""

    def __init__(self, max_in_flight: int, max_lag_ms: float) -> None:
        self._max_in_flight = max_in_flight
        self._max_lag = max_lag_ms / 1_000
        self.in_flight = 0
        self.lag = 0.0
        self._reading = 0
        self._backlog_kib = 0.0
        """Unknown tools that are being read and scanned."""
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

    def refusal(self) -> str | None:
        """Why a new request cannot be taken now, or None."""
        if self.in_flight >= self._max_in_flight:
            return "in_flight"
        # The lag so far of a probe that is overdue counts too: it says how late it is now.
        lag = max(self.lag, self._late(perf_counter()))
        return "loop_lag" if lag > self._max_lag else None

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request while it is in flight."""
        if not self.in_flight:
            self._busy_since = perf_counter()
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            if not self.in_flight:
                self._busy += perf_counter() - self._busy_since

    @contextmanager
    def unknown_tools(self, kib: float, costs: Costs, left_ms: float) -> Iterator[None]:
        """While that much of unknown tools is read and scanned.

        Raises:
            Overloaded: others wait, and with them it would take longer than there is time left.
        """
        waiting = self._backlog_kib + kib
        needed_ms = costs.expected("read", waiting) + self.lag * 1_000
        if self._reading >= FEW and needed_ms > left_ms:
            raise Overloaded("too many unknown tools at once; try again shortly")
        self._reading += 1
        self._backlog_kib = waiting
        began = perf_counter()
        try:
            yield
            # What was ahead of it is part of the time it took.
            costs.learn("read", (perf_counter() - began) * 1_000 / waiting)
        finally:
            self._reading -= 1
            self._backlog_kib = self._backlog_kib - kib if self._reading else 0.0

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
