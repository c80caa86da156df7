"""The vectors of a catalog, compared with those of a query."""

import sys
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from toolscout.index.embedder import Embedder, Floats, QueryVectors, Rows, TellingTokens

_inner_products = faiss.fvec_inner_products_ny  # type: ignore[attr-defined]
_pointer = faiss.swig_ptr

SENTENCE_SHARE = 0.8
"""Weight of the best fitting sentence beside the whole query."""


QUANTISED_ABOVE = 20_000
"""Tools above which vectors are kept as bytes. At 100,000 that is 26 instead of 102 MB, and a query
of four sentences takes 12 instead of 29 ms: flat rows no longer fit into the processor's cache."""

BLOCK = 1_024
"""Rows that are decoded at a time, for all sentences of a query."""


class VectorIndex:
    """The vectors of one catalog's tools, compared exactly."""

    __slots__ = ("_dimension", "_first", "_index", "size")

    def __init__(self, vectors: Floats) -> None:
        self.size, self._dimension = vectors.shape
        self._index = faiss.IndexFlatIP(self._dimension)
        self._index.add(np.ascontiguousarray(vectors, np.float32))
        self._first = self._index.get_xb()

    def __reduce__(self) -> tuple[Any, ...]:
        rows = faiss.rev_swig_ptr(self._first, self.size * self._dimension)
        return VectorIndex, (rows.reshape(self.size, self._dimension),)

    def similarities(self, query: QueryVectors) -> tuple[Floats, Floats]:
        """Similarity of a query to every row, each of shape (size,).

        Returns:
            For ranking, a mix of the whole query and the sentence of it that fits a row best;
            and that of the whole query alone, which says better whether anything fits.
        """
        whole, *sentences = self._products(query.vectors)
        if not sentences:
            return whole, whole
        closest = np.maximum.reduce(sentences)
        share = np.float32(SENTENCE_SHARE)
        mixed: Floats = (1 - share) * whole + share * closest
        return mixed, whole

    def _products(self, vectors: Sequence[Floats]) -> list[Floats]:
        """Return the inner product of every row with each vector."""
        products = []
        for vector in vectors:
            out = np.empty(self.size, np.float32)
            if self.size:
                _inner_products(
                    _pointer(out), _pointer(vector), self._first, self._dimension, self.size
                )
            products.append(out)
        return products

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors."""
        return int(self.size * self._dimension * 4)


class QuantisedIndex(VectorIndex):
    """The same as bytes, each row with a scale: cosines differ by at most .004."""

    __slots__ = ("_codec", "_codes", "_scales")

    def __init__(self, codes: NDArray[np.uint8], scales: Floats) -> None:
        self.size, self._dimension = codes.shape
        self._codes, self._scales = codes, scales
        self._codec = _codec(self._dimension)

    @classmethod
    def of(cls, vectors: Floats) -> "QuantisedIndex":
        """Quantise vectors, shape (tools, dimension)."""
        codec = _codec(vectors.shape[1])
        codes = np.empty(vectors.shape, np.uint8)
        scales = np.empty(len(vectors), np.float32)
        for at in range(0, len(vectors), BLOCK):
            rows = slice(at, at + BLOCK)
            block = vectors[rows]
            scales[rows] = np.maximum(np.abs(block).max(axis=1), np.float32(1e-9)) / 127
            codec.sa_encode(np.rint(block / scales[rows, None]), codes[rows])
        return cls(codes, scales)

    def __reduce__(self) -> tuple[Any, ...]:
        return QuantisedIndex, (self._codes, self._scales)

    def _products(self, vectors: Sequence[Floats]) -> list[Floats]:
        """Decode rows while they are in the processor's cache, once for all vectors."""
        products = [np.empty(self.size, np.float32) for _ in vectors]
        decoded = np.empty((BLOCK, self._dimension), np.float32)
        first = _pointer(decoded)
        for at in range(0, self.size, BLOCK):
            codes = self._codes[at : at + BLOCK]
            self._codec.sa_decode(codes, decoded[: len(codes)])
            for vector, out in zip(vectors, products, strict=True):
                part = _pointer(out[at : at + len(codes)])
                _inner_products(part, _pointer(vector), first, self._dimension, len(codes))
        for out in products:
            out *= self._scales
        return products

    @property
    def nbytes(self) -> int:
        """Bytes of the codes and scales."""
        return self._codes.nbytes + self._scales.nbytes


def index_vectors(vectors: Floats) -> VectorIndex:
    """Return an index of vectors, shape (tools, dimension), as their number demands."""
    return QuantisedIndex.of(vectors) if len(vectors) > QUANTISED_ABOVE else VectorIndex(vectors)


def bytes_per_tool(size: int, dimension: int) -> int:
    """Return the bytes of one vector in a catalog of this size."""
    return dimension + 4 if size > QUANTISED_ABOVE else 4 * dimension


@cache
def _codec(dimension: int) -> Any:
    """Return FAISS's codec of numbers from -128 to 127; it holds no rows."""
    kind = faiss.ScalarQuantizer.QT_8bit_direct_signed
    return faiss.IndexScalarQuantizer(dimension, kind, faiss.METRIC_INNER_PRODUCT)


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
