"""What tenants use together, shared so that one that sends everything leaves the others theirs.

A tenant's fair share of a resource is its capacity divided by the tenants that asked for some
lately. A tenant may use more than that while there is room, but not the last eighth: that is kept
for tenants below their fair share, who so find room before anything of the others has ended.
"""

import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from toolscout.common.threads import DaemonPool, settle

P = ParamSpec("P")
T = TypeVar("T")

ACTIVE_S = 10.0
"""How long after its last request a tenant still counts when shares are made."""

COUNTED_S = 1.0
"""How long requests are counted to tell who sends the most."""

RESERVE = 8
"""What part of a resource is kept for tenants below their fair share."""


class Shares:
    """A resource of bounded size: slots, or bytes. Not to be used from several threads at once."""

    def __init__(self, capacity: int, clock: Callable[[], float] = monotonic) -> None:
        self.tenants = 1
        """How many tenants there are; nothing is kept for others where there is one."""
        self.used = 0
        self._capacity = capacity
        self._clock = clock
        self._by_tenant: dict[str, int] = {}
        self._seen: dict[str, float] = {}
        self._asked: Counter[str] = Counter()
        self._before: Counter[str] = Counter()
        """Requests of this time span and the one before."""
        self._counted_since = clock()

    def take(self, tenant: str, amount: int = 1) -> bool:
        """Take some, if there is room for this tenant; where nothing is used there always is."""
        if self.tenants > 1:
            self._seen[tenant] = self._clock()
        if not self._has_room(tenant, amount):
            return False
        self.used += amount
        self._by_tenant[tenant] = self._by_tenant.get(tenant, 0) + amount
        return True

    def give(self, tenant: str, amount: int = 1) -> None:
        """Give some back."""
        self.used -= amount
        left = self._by_tenant.get(tenant, 0) - amount
        if left > 0:
            self._by_tenant[tenant] = left
        else:
            self._by_tenant.pop(tenant, None)

    def ask(self, tenant: str) -> bool:
        """Count a request; return whether this tenant sends more than the average of all.

        Where only one tenant asks, it does.
        """
        if self.tenants == 1:
            return True  # at once: most services have one
        now = self._clock()
        self._seen[tenant] = now
        if now - self._counted_since > COUNTED_S:
            self._before, self._asked, self._counted_since = self._asked, Counter(), now
        self._asked[tenant] += 1
        active = self.active(tenant)
        mine = self._asked[tenant] + self._before[tenant]
        total = self._asked.total() + self._before.total()
        return active == 1 or mine * active > total

    def active(self, tenant: str) -> int:
        """Count the tenants that asked lately, this one included."""
        if self.tenants == 1:
            return 1
        now = self._clock()
        for name in [name for name, seen in self._seen.items() if now - seen > ACTIVE_S]:
            if name not in self._by_tenant:
                del self._seen[name]
        return len(self._seen.keys() | {tenant})

    def _has_room(self, tenant: str, amount: int) -> bool:
        after = self.used + amount
        reserve = self._capacity // RESERVE if self.tenants > 1 else 0
        if not self.used or after <= self._capacity - reserve:
            return True
        if not reserve or after > self._capacity:
            return False
        # Where only one tenant asked lately, the reserve is for the next that does.
        sharing = max(2, self.active(tenant))
        return (self._by_tenant.get(tenant, 0) + amount) * sharing <= self._capacity


class FairPool:
    """Threads that take work from the tenants in turn."""

    def __init__(self, threads: int, name: str, most_waiting: int | None = None) -> None:
        """Take the number of threads, and of calls that may wait for one; None for any number."""
        self._threads = DaemonPool(threads, name, most_waiting)
        self._lock = threading.Lock()
        self._queues: dict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = {}

    def submit(
        self, tenant: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> "Future[T]":
        """Have some work done after what this tenant gave before.

        Raises:
            TooMuchWork: as many calls wait as may.
        """
        future: Future[T] = Future()
        with self._lock:
            self._threads.submit(self._run_next)  # it begins by waiting for the lock
            queue = self._queues.setdefault(tenant, deque())
            queue.append((future, lambda: work(*args, **kwargs)))
        return future

    def close(self) -> None:
        """Drop what has not begun; what runs ends with the process."""
        self._threads.shutdown(cancel_futures=True)

    def _run_next(self) -> None:
        with self._lock:
            tenant = next(iter(self._queues))
            queue = self._queues.pop(tenant)
            future, call = queue.popleft()
            if queue:
                self._queues[tenant] = queue  # behind the others
        if future.set_running_or_notify_cancel():
            settle(future, call)


def ahead(sizes: Mapping[str, float], tenant: str) -> float:
    """Sum what comes before more work of a tenant when all take turns.

    `sizes` is what waits of each tenant. Of another one no more comes first than this one has.
    """
    mine = sizes.get(tenant, 0.0)
    return sum(min(size, mine) for size in sizes.values())
