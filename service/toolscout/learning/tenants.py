"""What is learned of each tenant, with the parts that belong to it, bounded over all tenants."""

from collections.abc import Iterable
from secrets import token_hex

from toolscout.common.lru import Lru
from toolscout.experience import chains, reported, turns
from toolscout.experience.reported import Observation
from toolscout.learning import indexes
from toolscout.learning.log import Seen, Slices
from toolscout.state.store import Entry

SUBJECTS = 100_000
"""Maximum number of sessions and sources of one tenant that are remembered, as many as a log has
entries."""

REFUSED = 1_000
"""Maximum number of refused observations of one tenant that are looked for in the log."""

MAX_TENANTS = 4_096
"""Maximum number of tenants with experience; the one that was used longest ago is dropped first,
and read again from the store, if one is set, when it comes back.
"""

ALL_TOOLS = 4 * reported.MAX_TOOLS
"""Maximum number of tools of all tenants together (about 200 MB), in equal shares."""


class Tenant:
    """The experience of one tenant, and where in its logs it is."""

    def __init__(self) -> None:
        self.experience = reported.Experience()
        self.indexes = indexes.Indexes(self.experience)
        self.chains = chains.Chains()
        self.turns = turns.Turns()
        self.last: dict[str, Entry] = {}
        """The last entries that were read, by log."""
        self.origin = token_hex(8)
        """Marks entries of the log that were learned here when they were recorded."""
        self.epoch: bytes | None = None
        """Changes when the logs are dropped."""
        self.foreign = 0
        """Entries of other models, which were passed over."""
        self._refused: Lru[Observation, bool] = Lru(REFUSED)
        self._subjects: Lru[tuple[str, ...], frozenset[str]] = Lru(SUBJECTS)
        self._searched: Lru[str, None] = Lru(indexes.CATALOGS)

    async def learn(self, observations: Iterable[Seen]) -> list[Observation]:
        """Learn from observations; return those that were not known yet."""
        slices = Slices()
        counted = []
        for observation, vector in observations:
            if not self.turns.count(observation):
                continue
            if observation.chain:
                self.chains.learn(observation.chain, observation, vector)
            else:
                self.experience.learn(observation, vector)
            self.note_subjects(observation.subjects)
            counted.append(observation)
            await slices.pause()
        return counted

    def note_refused(self, observations: Iterable[Observation]) -> None:
        """Note what was not learned, as the store refused it; it may have it all the same."""
        for each in observations:
            self._refused.put(each, True)

    def take_if_learned(self, observation: Observation) -> bool:
        """Whether an observation of the log was learned when it was recorded."""
        return observation.origin == self.origin and not self._refused.pop(observation)

    def note_subjects(self, subjects: tuple[str, ...]) -> None:
        """Note whom a report names that was learned, the latest of them."""
        if subjects:
            self._subjects.put(subjects, frozenset(subjects))

    def knows(self, subjects: tuple[str, ...]) -> bool:
        """Whether a report was learned that names all of these."""
        return any(named.issuperset(subjects) for named in self._subjects.values())

    def forget(self, before: float) -> None:
        """Forget what was learned before a time."""
        self.experience.forget(before)
        self.chains.forget(before)

    def note(self, digest: str) -> None:
        """Note that a catalog was searched."""
        self._searched.put(digest, None)

    @property
    def recent(self) -> list[str]:
        """Digests of the catalogs searched last, the latest first."""
        return [digest for digest, _ in reversed(self._searched.items())]


class Tenants(Lru[str, Tenant]):
    """The tenants by name, bounded in number and in tools of all together."""

    def __init__(self) -> None:
        super().__init__(MAX_TENANTS)
        self._share = 0

    def of(self, name: str) -> Tenant:
        """Return a tenant, which becomes the one used last."""
        return self.get(name) or self.renew(name)

    def renew(self, name: str) -> Tenant:
        """Return a tenant anew, without experience."""
        tenant = Tenant()
        self.put(name, tenant)
        share = min(reported.MAX_TOOLS, ALL_TOOLS // len(self))
        # Of many tenants one more changes the share of the others seldom.
        for each in self.values() if share != self._share else [tenant]:
            each.experience.bound(share)
        self._share = share
        return tenant
