"""Names by meaning: how well the words of a tool's name are found among those of a query."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from toolscout.index.vectors import Embedder, Floats, Rows, TellingTokens

_NO_TOKENS = np.zeros(0, np.int32)


class NameVectors:
    """The tokens of every tool's name, in the order of the tools."""

    __slots__ = ("_ids", "_starts", "_totals")

    def __init__(self, embedder: Embedder, names: Sequence[Sequence[str]]) -> None:
        """Take the words of each name."""
        ids = [embedder.token_ids(found) for found in names]
        self._ids = np.fromiter(chain.from_iterable(ids), np.int32)
        self._starts: list[int] = np.cumsum([0, *map(len, ids)]).tolist()
        lengths = np.zeros(len(self._ids) + 1)
        np.cumsum(embedder.lengths[self._ids], out=lengths[1:])
        totals = np.diff(lengths[self._starts])
        self._totals = np.maximum(totals, 1e-9, dtype=np.float32)
        """Of the lengths of each name's tokens."""

    def likeness(self, embedder: Embedder, query: TellingTokens, rows: Rows) -> Floats:
        """How well the names of some tools are found in a query, shape (rows,), 0 to 1.

        Each token of a name has its best cosine among the query's telling tokens (the MaxSim of
        ColBERT, Khattab and Zaharia 2020), and counts by the length of its vector, which grows with
        how telling it is.
        """
        names = [self._ids[self._starts[row] : self._starts[row + 1]] for row in rows.tolist()]
        ids = np.concatenate([_NO_TOKENS, *names])
        if not len(ids):
            return np.zeros(len(rows), np.float32)
        found = (query.vectors @ embedder.token_vectors(ids).T).max(axis=0)
        owner = np.arange(len(rows)).repeat([len(name) for name in names])
        likeness = np.bincount(owner, found, len(rows)) / self._totals[rows]
        found_well: Floats = np.maximum(likeness, 0.0).astype(np.float32)
        return found_well

    @property
    def nbytes(self) -> int:
        """Bytes of the tokens."""
        return int(self._ids.nbytes + self._totals.nbytes + 8 * len(self._starts))
