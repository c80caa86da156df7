"""Names by meaning: how well the words of a tool's name are found among those of a query."""

from collections.abc import Sequence
from itertools import accumulate, chain

import numpy as np

from toolscout.index.vectors import Embedder, Floats, Rows, TellingTokens

_ANY_TOKEN = 0
"""Stands in a name that has none, and counts nothing there."""


class NameVectors:
    """The tokens of every tool's name, in the order of the tools."""

    __slots__ = ("_ids", "_starts", "_totals")

    def __init__(self, embedder: Embedder, names: Sequence[Sequence[str]]) -> None:
        """Take the words of each name."""
        ids = [embedder.token_ids(found) for found in names]
        empty = [row for row, found in enumerate(ids) if not found]
        for row in empty:
            ids[row] = [_ANY_TOKEN]
        self._ids = np.fromiter(chain.from_iterable(ids), np.int32)
        self._starts = [0, *accumulate(map(len, ids))]
        lengths = np.zeros(len(self._ids) + 1)
        np.cumsum(embedder.lengths[self._ids], out=lengths[1:])
        self._totals = np.diff(lengths[self._starts]).astype(np.float32)
        self._totals[empty] = np.inf
        """Of the lengths of each name's tokens."""

    def likeness(self, embedder: Embedder, query: TellingTokens, rows: Rows) -> Floats:
        """How well the names of some tools are found in a query, shape (rows,), 0 to 1.

        Each token of a name has its best cosine among the query's telling tokens (the MaxSim of
        ColBERT, Khattab and Zaharia 2020), and counts by the length of its vector, which grows with
        how telling it is.
        """
        if not len(rows):
            return np.zeros(0, np.float32)
        names = [self._ids[self._starts[row] : self._starts[row + 1]] for row in rows.tolist()]
        ids = np.concatenate(names)
        found = (query.vectors @ embedder.token_vectors(ids).T).max(axis=0)
        starts = [0, *accumulate(map(len, names[:-1]))]
        likeness: Floats = np.maximum(np.add.reduceat(found, starts), np.float32(0))
        likeness /= self._totals[rows]
        return likeness

    @property
    def nbytes(self) -> int:
        """Bytes of the tokens."""
        return int(self._ids.nbytes + self._totals.nbytes + 8 * len(self._starts))
