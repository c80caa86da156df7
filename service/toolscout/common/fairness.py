"""Share resources between tenants, so that one that floods leaves the others their share.

A tenant's fair share of a resource is its capacity divided by the number of recently active
tenants. A tenant may use more while there is room, but not the last eighth: it is reserved for
tenants below their fair share, so that they find room immediately.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from time import monotonic

ACTIVE_S = 10.0
"""Seconds after its last request for which a tenant counts as active."""

COUNTED_S = 1.0
"""Seconds over which requests are counted to find the tenants that send the most."""

RESERVE = 8
"""Fraction of a resource that is reserved for tenants below their fair share."""


class Shares:
    """A resource of bounded size: slots, or bytes. Not thread-safe."""

    def __init__(self, capacity: int, clock: Callable[[], float] = monotonic) -> None:
        self.tenants = 1
        """Number of tenants; with a single one nothing is reserved."""
        self.used = 0
        self._capacity = capacity
        self._clock = clock
        self._by_tenant: dict[str, int] = {}
        self._seen: dict[str, float] = {}
        self._asked: Counter[str] = Counter()
        self._before: Counter[str] = Counter()
        """Requests in the current time span and in the previous one."""
        self._counted_since = clock()

    def take(self, tenant: str, amount: int = 1) -> bool:
        """Take an amount, if there is room for this tenant; there always is if nothing is used."""
        if self.tenants > 1:
            self._seen[tenant] = self._clock()
        if not self._has_room(tenant, amount):
            return False
        self.used += amount
        self._by_tenant[tenant] = self._by_tenant.get(tenant, 0) + amount
        return True

    def give(self, tenant: str, amount: int = 1) -> None:
        """Return an amount."""
        self.used -= amount
        left = self._by_tenant.get(tenant, 0) - amount
        if left > 0:
            self._by_tenant[tenant] = left
        else:
            self._by_tenant.pop(tenant, None)

    def ask(self, tenant: str) -> bool:
        """Count a request; return whether this tenant sends more than the average of all.

        A single active tenant does.
        """
        if self.tenants == 1:
            return True  # at once: most services have one
        now = self._clock()
        self._seen[tenant] = now
        if now - self._counted_since > COUNTED_S:
            self._before = self._asked
            self._asked = Counter()
            self._counted_since = now
        self._asked[tenant] += 1
        active = self.active(tenant)
        mine = self._asked[tenant] + self._before[tenant]
        total = self._asked.total() + self._before.total()
        return active == 1 or mine * active > total

    def active(self, tenant: str) -> int:
        """Count the recently active tenants, this one included."""
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
        # With a single active tenant, the reserve is for the next one.
        sharing = max(2, self.active(tenant))
        return (self._by_tenant.get(tenant, 0) + amount) * sharing <= self._capacity


def sum_ahead(sizes: Mapping[str, float], tenant: str) -> float:
    """Sum the work before further work of a tenant when all take turns.

    `sizes` is the waiting work of each tenant. At most as much of another's counts.
    """
    mine = sizes.get(tenant, 0.0)
    return sum(min(size, mine) for size in sizes.values())
