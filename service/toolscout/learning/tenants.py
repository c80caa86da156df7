"""What is learned of each tenant, with the parts that belong to it, bounded over all tenants."""

from collections import OrderedDict
from collections.abc import Iterator
from secrets import token_hex

from toolscout.common.lru import Lru
from toolscout.learning import chains, experience, gate, indexes, turns

SUBJECTS = 100_000
"""Maximum number of sessions and sources of one tenant that are remembered, as many as a log has
entries."""

MAX_TENANTS = 4_096
"""Maximum number of tenants with experience; the one that was used longest ago is dropped first,
and read again from the store, if one is set, when it comes back.
"""

ALL_TOOLS = 4 * experience.MAX_TOOLS
"""Maximum number of tools of all tenants together (about 200 MB), in equal shares."""


class Tenant:
    """The experience of one tenant, and the positions in its logs."""

    def __init__(self) -> None:
        self.experience = experience.Experience()
        self.indexes = indexes.Indexes(self.experience)
        self.chains = chains.Chains()
        self.turns = turns.Turns()
        self.positions: dict[str, str] = {}
        """Positions of the last entries that were read, by log."""
        self.origin = token_hex(8)
        """Marks entries of the log that were learned here when they were recorded."""
        self.epoch: bytes | None = None
        """Changes when the logs are dropped."""
        self.foreign = 0
        """Entries of other models, which were passed over."""
        self._subjects: Lru[tuple[str, ...], frozenset[str]] = Lru(SUBJECTS)
        self._searched: Lru[str, None] = Lru(indexes.CATALOGS)

    def note_subjects(self, subjects: tuple[str, ...]) -> None:
        """Note whom a report names that was learned, the latest of them."""
        if subjects:
            self._subjects.put(subjects, frozenset(subjects))

    def knows(self, subjects: tuple[str, ...]) -> bool:
        """Whether a report was learned that names all of these."""
        return any(named.issuperset(subjects) for named in self._subjects.values())

    def note(self, digest: str) -> None:
        """Note that a catalog was searched."""
        self._searched.put(digest, None)

    @property
    def recent(self) -> list[str]:
        """Digests of the catalogs searched last, the latest first."""
        return [digest for digest, _ in reversed(self._searched.items())]


class Tenants:
    """The tenants, bounded in number and in tools of all together."""

    def __init__(self) -> None:
        self._tenants: OrderedDict[str, Tenant] = OrderedDict()

    def get(self, name: str) -> Tenant:
        """Return a tenant, which becomes the one used last."""
        tenant = self._tenants.get(name)
        if tenant is None:
            return self.renew(name)
        self._tenants.move_to_end(name)
        return tenant

    def renew(self, name: str) -> Tenant:
        """Return a tenant anew, without experience."""
        tenant = self._tenants[name] = Tenant()
        self._tenants.move_to_end(name)
        while len(self._tenants) > MAX_TENANTS:
            self._tenants.popitem(last=False)
        share = min(experience.MAX_TOOLS, ALL_TOOLS // len(self._tenants))
        for each in self._tenants.values():
            each.experience.bound(share)
        return tenant

    def peek(self, name: str) -> Tenant | None:
        """Return a tenant without making or using it."""
        return self._tenants.get(name)

    def forget(self, before: float) -> None:
        """Forget of each tenant what was reported last before a time."""
        for tenant in self._tenants.values():
            tenant.experience.forget(before)
            tenant.chains.forget(before)

    def gates(self) -> Iterator[gate.Gate]:
        """Yield the gates of the catalogs that the tenants searched last."""
        for tenant in self._tenants.values():
            yield from tenant.indexes.gates().values()

    def names(self) -> list[str]:
        """Return the names of the tenants with experience."""
        return list(self._tenants)
