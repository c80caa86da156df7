"""Search in process, ordered by what served before: the engine and its learning, without HTTP."""

from collections.abc import Collection
from contextlib import suppress
from copy import copy

from toolscout import __version__
from toolscout.contract.fields import Outcome
from toolscout.contract.requests import Filters
from toolscout.engine import Engine
from toolscout.experience.reported import Observation
from toolscout.gateway.mcp.listing import Listing
from toolscout.index import pages
from toolscout.index.catalog import Catalog
from toolscout.learning.learner import Learner
from toolscout.ranking.ask import Ask
from toolscout.ranking.resolve import Resolver
from toolscout.state.guarded import Guard
from toolscout.state.memory import MemoryStore
from toolscout.state.opening import open_store
from toolscout.state.store import StoreUnavailable

TENANT = "local"


class Finder:
    """Finds tools of the latest list that was given to `use`.

    What calls have taught of a tool counts for all hosts, as long as the tool is as it was.

    Args:
        store: where that is kept: `memory`, or `sqlite:PATH`.

    Raises:
        ConfigurationError: there is no such store.
    """

    def __init__(self, store: str = "memory") -> None:
        self._store = open_store(store)
        self._whole = self
        """The one of all tools, by whose catalog calls are reported."""
        self._begin()
        self._learner = Learner(
            None if isinstance(self._store, MemoryStore) else Guard(self._store),
            self._engine.embedder,
            lambda _, digest: self.catalog if digest == self.catalog.digest else None,
            model=__version__,
        )

    def _begin(self) -> None:
        self._engine = Engine()
        self.catalog: Catalog = self._engine.catalog
        self.resolver = Resolver(self.catalog)

    def narrow(self) -> "Finder":
        """Return one of other tools, none yet, that is ordered by the same experience."""
        part = copy(self)
        part._begin()
        return part

    async def follow(self) -> None:
        """Read what was learned before, and by others that share the store, until cancelled."""
        await self._learner.follow([TENANT], lambda _: None)

    async def close(self) -> None:
        """Close the store."""
        with suppress(StoreUnavailable):
            await self._store.close()

    def use(self, listing: Listing) -> None:
        """Compile the tools to search from now on; may be called in a thread, one at a time.

        Raises:
            InvalidRequest: one of them is no tool.
        """
        self._engine.compiler.overlay = listing.overlay
        self._engine.remove([name for name in self.catalog.names if name not in listing.tools])
        self._engine.add(listing.shown)
        catalog = self._engine.catalog
        self.catalog = catalog
        self.resolver = Resolver(catalog)

    async def search(
        self, query: str, count: int, filters: Filters | None
    ) -> tuple[list[str], Outcome]:
        """Return the names of the best tools, best first, and how well they fit."""
        await self._learner.prepare(query)
        ask = Ask(pattern=query, top_k=count, filters=filters)
        prior = self._learner.prior(TENANT, self.catalog)
        decision = self._engine.decide(self.catalog, ask, prior=prior)
        return decision.names, decision.outcome

    def domains(self, names: Collection[str]) -> dict[str, int]:
        """Count tools by domain, most first."""
        catalog = self.catalog
        rows = [catalog.rows[name] for name in names if name in catalog.rows]
        return pages.count_filtered_domains(catalog, rows)

    async def learn(self, query: str, tool: str, success: bool, search: str) -> None:
        """Learn that a tool that a search found was called; equal reports of it count once."""
        digest = self._whole.catalog.digest
        seen = Observation(query, tool, success, catalog=digest, turn=search)
        with suppress(StoreUnavailable):  # a call that worked must not fail for it
            await self._learner.record(TENANT, [seen])
