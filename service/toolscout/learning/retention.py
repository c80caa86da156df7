"""Delete reports at their age, though a clock may be wrong.

What is too old goes by the store's time, which no single host has wrong; a file goes by that of its
machine. A jump of that clock would make everything too old at once, and so does a service that was
not used for long. These cannot be told apart, so a log of which most would go is kept for a day, by
a clock that only counts seconds, and then loses a part of it a day.
"""

from collections.abc import Callable, Collection
from math import inf

from toolscout.experience.reported import DAY_S
from toolscout.experience.turns import TURN_S
from toolscout.learning.log import Erasure, Log, Report, find_unfinished
from toolscout.state.guarded import Guard
from toolscout.state.store import StoreUnavailable

TIDY_S = 60.0
"""Seconds between checks of a log for old turns and reports."""

SLACK = 0.1
"""Share of the time that reports are kept by which the oldest may be older, at most a day: every
process reads what is left again."""

SUSPICIOUS_SHARE = 0.5
"""Share of a log that is not removed at once: a clock may be wrong."""

DAILY_SHARE = 0.25
"""Share of such a log that goes in a day instead."""


class AgingLog(Log):
    """The logs, and what of them is too old."""

    def __init__(
        self,
        guard: Guard,
        model: str,
        kept_s: float,
        suspected: Callable[[str], object],
        steady: Callable[[], float],
    ) -> None:
        super().__init__(guard, model)
        self.kept_s = kept_s
        """Seconds after which reports are deleted."""
        self.suspected = suspected
        """Is told what is suspicious, once for each tenant."""
        self.steady = steady
        """Counts seconds, whatever the time is set to."""
        self._tidied: dict[str, float] = {}
        """When each tenant's logs were checked last."""
        self._held: dict[str, float] = {}
        """Since when, or since which portion, most of a tenant's log would go."""

    @property
    def held(self) -> int:
        """Number of logs of which most would go at once."""
        return len(self._held)

    def is_due(self, tenant: str) -> bool:
        """Whether a tenant's logs are to be checked."""
        return self.steady() - self._tidied.get(tenant, -inf) >= TIDY_S

    async def tidy(self, tenant: str) -> None:
        """Remove turns that are over, and reports that are too old.

        Raises:
            StoreUnavailable: some of them may remain.
        """
        self._tidied[tenant] = self.steady()
        now = await self.now()
        await self.forget_turns(tenant, now - TURN_S)
        oldest = await self.find_oldest(tenant)
        before = now - self.kept_s
        if oldest is None or oldest >= before - min(DAY_S, SLACK * self.kept_s):
            self._held.pop(tenant, None)
            return
        times = await self.times(tenant)
        old = sorted(time for time in times if time < before)
        if len(old) <= SUSPICIOUS_SHARE * len(times):
            self._held.pop(tenant, None)
        elif tenant not in self._held:
            self._held[tenant] = self.steady()
            self.suspected(
                f"{len(old)} of {len(times)} reports of a tenant are older than learning_days"
                " by this clock; they stay for a day, and then a part of them goes each day"
            )
            return
        elif self.steady() - self._held[tenant] < DAY_S:
            return
        else:
            self._held[tenant] = self.steady()
            last = old[max(1, int(DAILY_SHARE * len(times))) - 1]  # those of one time go together
            before = next((time for time in old if time > last), before)
        await self.erase(tenant, Erasure(before=before))

    async def tidy_others(self, tenants: Collection[str], report: Report) -> None:
        """Tidy the logs of tenants that are unknown here, such as those whose keys were removed."""
        try:
            for tenant in await self.tenants():
                if tenant not in tenants:
                    if begun := find_unfinished(await self.epoch(tenant)):
                        await self.finish(tenant, begun)
                    await self.tidy(tenant)
        except StoreUnavailable as error:
            report(f"learning: the logs of other tenants were not tidied: {error}")
