"""Divide a tenant's rate among the processes that share a store, by what each is asked.

Every second a process writes what it was asked, reads what the others were, and takes its part: as
much as it was asked and an equal part of what is left, or, of too much, in proportion. Requests
never wait for that. While the store is away, the last part holds; a process that is new may allow
one second's worth beside the others.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from secrets import token_hex
from time import monotonic, time

import msgspec

from toolscout.server.http.admission import LASTS_S, RateLimit
from toolscout.state.guarded import Guard
from toolscout.state.store import StoreUnavailable, key

RENEWED_S = 1.0
"""How often a process asks for its part."""

WITHIN_S = 1.0
"""Time limit of the store."""

TRIES = 3
"""Attempts to write while others write, before the next turn."""

MOST = 1e9
"""Requests a second above which a number in the store is none."""

LEAST = 1e-3
"""Requests a second that a process can always allow: one in a quarter of an hour."""


class Lease(msgspec.Struct, frozen=True, array_like=True):
    """What one process was asked of a tenant, in requests a second, and until when that counts."""

    asked: float
    until: float


_decode = msgspec.json.Decoder(dict[str, Lease]).decode
_encode = msgspec.json.Encoder().encode


class Leases:
    """The part of one process in the rates of all tenants."""

    def __init__(
        self, guard: Guard, limit: RateLimit, per_second: float, clock: Callable[[], float] = time
    ) -> None:
        """Divide `per_second`, which `limit` allows each tenant."""
        self._guard = guard
        self._limit = limit
        self._rate = per_second
        self._clock = clock
        self._name = token_hex(8)

    async def follow(self) -> None:
        """Renew all leases every second, until cancelled."""
        last = monotonic()
        while True:
            await asyncio.sleep(RENEWED_S)
            now = monotonic()
            await self.renew(now - last)
            last = now

    async def renew(self, seconds: float) -> None:
        """Renew the leases of the tenants that asked in the last seconds."""
        asked, self._limit.asked = self._limit.asked, Counter()
        for tenant, count in asked.items():
            try:
                others = await self._exchange(tenant, count / seconds)
            except StoreUnavailable:
                continue
            self._limit.rates[tenant] = part(self._rate, count / seconds, others)

    async def _exchange(self, tenant: str, asked: float) -> list[float]:
        """Write what was asked here; return what was asked of the others.

        Raises:
            StoreUnavailable: the store could not be read or written.
        """
        store, name, others = self._guard.store, key("rate", tenant), list[float]()
        for _ in range(TRIES):
            raw = await self._guard.run("get", store.get(name), WITHIN_S)
            leases, now = _read(raw), self._clock()
            kept = {
                process: lease
                for process, lease in leases.items()
                if process != self._name
                and now < lease.until <= now + 2 * LASTS_S
                and 0 <= lease.asked <= MOST
            }
            others = [lease.asked for lease in kept.values()]
            fresh = _encode(kept | {self._name: Lease(asked, now + LASTS_S)})
            swapping = store.swap(name, raw, fresh, 2 * LASTS_S)
            if await self._guard.run("swap", swapping, WITHIN_S):
                break
        return others


def part(rate: float, asked: float, others: list[float]) -> float:
    """Return the part of a rate for a process that was asked so much, beside others."""
    whole = asked + sum(others)
    fair = asked + (rate - whole) / (len(others) + 1) if whole <= rate else rate * asked / whole
    return max(fair, LEAST)


def _read(raw: bytes | None) -> dict[str, Lease]:
    try:
        return {} if raw is None else _decode(raw)
    except msgspec.MsgspecError:
        return {}
