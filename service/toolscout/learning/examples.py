"""What tools say by `examples`: whether it improves their order, and their votes alone."""

from msgspec.structs import replace

from toolscout.common.lru import Lru
from toolscout.index.catalog import Catalog
from toolscout.index.compile import example_texts
from toolscout.index.embedder import Embedder
from toolscout.index.pattern_vectors import read_pattern
from toolscout.learning.experience import Experience
from toolscout.learning.prior import LearnedIndex, prior_of
from toolscout.ranking.ask import Ask, Prior
from toolscout.ranking.pipeline import rank
from toolscout.ranking.scorers import learning_gains

INDEXES = 64
"""Maximum number of cached indexes of all tenants; each takes some 20 ms to make."""

LEFT_OUT = 256
"""Examples of a catalog that are asked, some .7 ms each. Of 64 or 128 the gain varies too much."""


class ExamplePriors:
    """The priors of catalogs by their tools' examples alone, where nothing is learned from use."""

    def __init__(self) -> None:
        self._indexes: Lru[tuple[str, str], LearnedIndex] = Lru(INDEXES)

    def of(self, catalog: Catalog, tenant: str = "") -> Prior | None:
        """Return a function that scores a catalog's tools by examples; None without any."""
        if not catalog.examples:
            return None
        index = self._indexes.get((tenant, catalog.digest))
        if index is None:
            index = index_of_examples(catalog)
            self._indexes.put((tenant, catalog.digest), index)
        return prior_of(index)


def judged(catalog: Catalog, embedder: Embedder | None) -> Catalog:
    """Return a catalog that knows by how much its examples raise 1/rank of their tools.

    Each is asked as a request of which the same example is left out, as if it came from a user.
    """
    if not catalog.examples or embedder is None:
        return catalog
    index, gained = index_of_examples(catalog), 0.0
    without = Prior(lambda query, vectors: index.prior(read_pattern(query, vectors), left_out=True))
    rows = [row for row, _ in catalog.examples]  # those of a tool follow one another
    count = min(LEFT_OUT, len(rows))
    for place in (at * len(rows) // count for at in range(count)):
        row = rows[place]
        text = example_texts(catalog.tool(row))[place - rows.index(row)]
        ranking = rank(catalog, Ask(pattern=text), embedder, prior=without)
        gained += learning_gains(ranking).get(catalog.names[row], 0.0)
    return replace(catalog, examples_gain=gained)


def index_of_examples(catalog: Catalog) -> LearnedIndex:
    """Return an index of what a catalog's tools say by examples alone."""
    return LearnedIndex([(name, "") for name in catalog.names], Experience(), 0.0, catalog)
