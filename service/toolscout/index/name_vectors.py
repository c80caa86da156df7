"""Names by meaning: how well the words of a tool's name are found among those of a query."""

import sys
from collections.abc import Sequence
from itertools import accumulate, chain

import numpy as np

from toolscout.index.vectors import Embedder, Floats, Rows, TellingTokens

_ANY_TOKEN = 0
"""Stands in a name that has none, and counts nothing there."""

_ID_BYTES = np.dtype(np.int32).itemsize


class NameVectors:
    """The tokens of every tool's name, in the order of the tools."""

    __slots__ = ("_names", "_totals")

    def __init__(self, embedder: Embedder, names: Sequence[Sequence[str]]) -> None:
        """Take the words of each name."""
        ids = [embedder.token_ids(found) or [_ANY_TOKEN] for found in names]
        self._names = [np.array(found, np.int32).tobytes() for found in ids]
        """The tokens of each name: bytes are joined faster than arrays, and need less memory."""
        starts = [0, *accumulate(map(len, ids))]
        lengths = np.zeros(starts[-1] + 1)
        np.cumsum(embedder.lengths[list(chain.from_iterable(ids))], out=lengths[1:])
        self._totals = np.diff(lengths[starts]).astype(np.float32)
        """Of the lengths of each name's tokens."""
        self._totals[[not embedder.token_ids(found) for found in names]] = np.inf

    def likeness(self, embedder: Embedder, query: TellingTokens, rows: Rows) -> Floats:
        """How well the names of some tools are found in a query, shape (rows,), 0 to 1.

        Each token of a name has its best cosine among the query's telling tokens (the MaxSim of
        ColBERT, Khattab and Zaharia 2020), and counts by the length of its vector, which grows with
        how telling it is.
        """
        if not len(rows):
            return np.zeros(0, np.float32)
        names = [self._names[row] for row in rows.tolist()]
        found = embedder.best_matches(np.frombuffer(b"".join(names), np.int32), query)
        starts = [at // _ID_BYTES for at in accumulate(map(len, names[:-1]), initial=0)]
        likeness: Floats = np.add.reduceat(found, starts)
        np.maximum(likeness, np.float32(0), out=likeness)
        likeness /= self._totals[rows]
        return likeness

    @property
    def nbytes(self) -> int:
        """Bytes of the tokens."""
        return self._totals.nbytes + sum(map(sys.getsizeof, self._names)) + 8 * len(self._names)
