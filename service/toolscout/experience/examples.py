"""What tools say by `examples`, where nothing is learned from use."""

from toolscout.common.lru import Lru
from toolscout.experience.prior import LearnedIndex, prior_of
from toolscout.experience.reported import Experience
from toolscout.index.catalog import Catalog
from toolscout.ranking.ask import Prior

INDEXES = 64
"""Maximum number of cached indexes of all tenants; each takes some 20 ms to make."""


class ExamplePriors:
    """The priors of catalogs by their tools' examples alone, where nothing is learned from use."""

    def __init__(self) -> None:
        self._indexes: Lru[tuple[str, str, str], LearnedIndex] = Lru(INDEXES)

    def of(self, catalog: Catalog, tenant: str = "") -> Prior | None:
        """Return a function that scores a catalog's tools by examples; None without any."""
        if not catalog.examples:
            return None
        key = tenant, catalog.digest, catalog.adjusted.overlay
        index = self._indexes.get(key)
        if index is None:
            keys = [(name, "") for name in catalog.names]
            index = LearnedIndex(keys, Experience(), 0.0, catalog)
            self._indexes.put(key, index)
        return prior_of(index)
