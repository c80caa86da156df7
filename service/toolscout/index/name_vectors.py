"""Names by meaning: how well the words of a tool's name are found among those of a query."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from toolscout.index.vectors import Embedder, Floats, TellingTokens, best_products


class NameVectors:
    """The tokens of every tool's name, in the order of the tools."""

    __slots__ = ("_ids", "_starts")

    def __init__(self, embedder: Embedder, names: Sequence[Sequence[str]]) -> None:
        """Take the words of each name."""
        ids = [embedder.token_ids(found) for found in names]
        self._ids = np.fromiter(chain.from_iterable(ids), np.int32)
        self._starts: list[int] = np.cumsum([0, *map(len, ids)]).tolist()

    def likeness(self, embedder: Embedder, query: TellingTokens, rows: Sequence[int]) -> Floats:
        """How well the names of some tools are found in a query, shape (rows,), 0 to 1.

        Each token of a name has its best cosine among the query's telling tokens (the MaxSim of
        ColBERT, Khattab and Zaharia 2020), and counts by the length of its vector, which grows with
        how telling it is.
        """
        spans = [(self._starts[row], self._starts[row + 1]) for row in rows]
        ids = np.concatenate([self._ids[start:end] for start, end in spans])
        if not len(ids):
            return np.zeros(len(rows), np.float32)
        found = best_products(embedder.token_vectors(ids), query.vectors)
        owner = np.arange(len(rows)).repeat([end - start for start, end in spans])
        lengths = np.bincount(owner, embedder.lengths[ids], len(rows))
        likeness = np.bincount(owner, found, len(rows)) / np.maximum(lengths, 1e-9)
        return np.maximum(likeness, 0.0).astype(np.float32)

    @property
    def nbytes(self) -> int:
        """Bytes of the tokens."""
        return self._ids.nbytes + 8 * len(self._starts)
