"""The vectors of a catalog, compared with those of a query."""

import sys
from collections.abc import Sequence
from itertools import accumulate

import faiss
import numpy as np

from toolscout.index.vectors import Embedder, Floats, QueryVectors, Rows, TellingTokens

_inner_products = faiss.fvec_inner_products_ny  # type: ignore[attr-defined]
_pointer = faiss.swig_ptr

SENTENCE_SHARE = 0.8
"""Weight of the best fitting sentence beside the whole query."""


class VectorIndex:
    """The vectors of one catalog's tools, compared exactly: flat is fastest to 10⁵ rows."""

    __slots__ = ("_dimension", "_first", "_index", "size")

    def __init__(self, vectors: Floats) -> None:
        self.size, self._dimension = vectors.shape
        self._index = faiss.IndexFlatIP(self._dimension)
        self._index.add(np.ascontiguousarray(vectors, np.float32))
        self._first = self._index.get_xb()

    def similarities(self, query: QueryVectors) -> tuple[Floats, Floats]:
        """Similarity of a query to every row, each of shape (size,).

        Returns:
            For ranking, a mix of the whole query and the sentence of it that fits a row best;
            and that of the whole query alone, which says better whether anything fits.
        """
        whole = self._products(query.vectors[0])
        if len(query.vectors) == 1:
            return whole, whole
        closest = np.maximum.reduce([self._products(part) for part in query.vectors[1:]])
        share = np.float32(SENTENCE_SHARE)
        mixed: Floats = (1 - share) * whole + share * closest
        return mixed, whole

    def _products(self, vector: Floats) -> Floats:
        out = np.empty(self.size, np.float32)
        if self.size:
            _inner_products(
                _pointer(out), _pointer(vector), self._first, self._dimension, self.size
            )
        return out

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors."""
        return int(self.size * self._dimension * 4)


_ID = np.dtype(np.int32)
_ANY_TOKEN = bytes(_ID.itemsize)
"""Stands in a name that has none, and counts nothing there."""


def name_tokens(embedder: Embedder, found: Sequence[str]) -> bytes:
    """Return the tokens of a name, given as its words, packed; empty if none is known.

    Bytes are joined faster than arrays, and need less memory.
    """
    return np.array(embedder.token_ids(found), _ID).tobytes()


class NameVectors:
    """The tokens of every tool's name, in the order of the tools."""

    __slots__ = ("_names", "_totals")

    def __init__(self, embedder: Embedder, names: Sequence[bytes]) -> None:
        """Take the `name_tokens` of each tool."""
        self._names = [found or _ANY_TOKEN for found in names]
        ends = np.fromiter(accumulate(map(len, self._names)), np.intp) // _ID.itemsize
        lengths = embedder.lengths[np.frombuffer(b"".join(self._names), _ID)]
        sums = np.append(0.0, np.cumsum(lengths, dtype=np.float64))
        self._totals = np.diff(sums[ends], prepend=0.0).astype(np.float32)
        """Of the lengths of each name's tokens."""
        self._totals[[not found for found in names]] = np.inf

    def likeness(self, embedder: Embedder, query: TellingTokens, rows: Rows) -> Floats:
        """How well the names of some tools are found in a query, shape (rows,), 0 to 1.

        Each token of a name has its best cosine among the query's telling tokens (the MaxSim of
        ColBERT, Khattab and Zaharia 2020), and counts by the length of its vector, which grows with
        how telling it is.
        """
        if not len(rows):
            return np.zeros(0, np.float32)
        names = [self._names[row] for row in rows.tolist()]
        found = embedder.best_matches(np.frombuffer(b"".join(names), _ID), query)
        starts = [at // _ID.itemsize for at in accumulate(map(len, names[:-1]), initial=0)]
        likeness: Floats = np.add.reduceat(found, starts)
        np.maximum(likeness, np.float32(0), out=likeness)
        likeness /= self._totals[rows]
        return likeness

    @property
    def nbytes(self) -> int:
        """Bytes of the tokens."""
        return self._totals.nbytes + sum(map(sys.getsizeof, self._names)) + 8 * len(self._names)
