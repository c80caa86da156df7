"""The vectors of a catalog, compared with those of a query."""

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

import faiss
import numpy as np
from numpy.typing import NDArray

from toolscout.index.embedder import Floats, QueryVectors

N = TypeVar("N", np.uint8, np.float32)

_inner_products = faiss.fvec_inner_products_ny  # type: ignore[attr-defined]
_pointer = faiss.swig_ptr

QUANTISED_ABOVE = 20_000
"""Tools above which vectors are kept as bytes. At 100,000 that is 26 instead of 102 MB, and four
vectors take 12 instead of 29 ms: flat rows no longer fit into the processor's cache."""

BLOCK = 1_024
"""Rows that are decoded at a time, for all vectors."""


class VectorIndex:
    """The vectors of one catalog's tools, compared exactly."""

    __slots__ = ("_dimension", "_first", "_index", "size")

    def __init__(self, vectors: Floats) -> None:
        self.size, self._dimension = vectors.shape
        self._index = faiss.IndexFlatIP(self._dimension)
        self._index.add(np.ascontiguousarray(vectors, np.float32))
        self._first = self._index.get_xb()

    @property
    def rows(self) -> Floats:
        """The vectors, shape (size, dimension)."""
        rows: Floats = faiss.rev_swig_ptr(self._first, self.size * self._dimension)
        return rows.reshape(self.size, self._dimension)

    def __reduce__(self) -> tuple[Any, ...]:
        return VectorIndex, (self.rows,)

    def with_changes(
        self, moved: NDArray[np.int32], rows: Sequence[int], new: Floats
    ) -> "VectorIndex | None":
        """Return the index of the same vectors but for a few, as indexing all of them makes it.

        Args:
            moved: the new row of each vector, -1 for one that is gone; shape (size,).
            rows: those of the new vectors.
            new: these, shape (rows, dimension).

        Returns:
            None where the former ones are not known well enough.
        """
        return index_vectors(_merge(self.rows, moved, rows, new))

    def similarities(self, query: QueryVectors) -> tuple[Floats, Floats]:
        """Similarity of a query to every row, each of shape (size,).

        Returns:
            For ranking, a mix of the whole query and the turn or sentence of it that fits a row
            best; and that of the whole query alone, which says better whether anything fits.
        """
        of_query, *parts = self.products(query.vectors)
        if not parts:
            return of_query, of_query
        closest = np.maximum.reduce(parts)
        share = np.float32(query.parts_share)
        mixed: Floats = (1 - share) * of_query + share * closest
        return mixed, of_query

    def products(self, vectors: Sequence[Floats]) -> list[Floats]:
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
        self._codes = codes
        self._scales = scales
        self._codec = _make_codec(self._dimension)

    @classmethod
    def of(cls, vectors: Floats) -> "QuantisedIndex":
        """Quantise vectors, shape (tools, dimension)."""
        codec = _make_codec(vectors.shape[1])
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

    def with_changes(
        self, moved: NDArray[np.int32], rows: Sequence[int], new: Floats
    ) -> VectorIndex | None:
        """Return the same, each vector quantised by itself; None where so few are kept exactly."""
        added = QuantisedIndex.of(new)
        codes = _merge(self._codes, moved, rows, added._codes)
        if len(codes) <= QUANTISED_ABOVE:
            return None
        return QuantisedIndex(codes, _merge(self._scales, moved, rows, added._scales))

    def products(self, vectors: Sequence[Floats]) -> list[Floats]:
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


def measure_tool(size: int, dimension: int) -> int:
    """Return the bytes of one vector in a catalog of this size."""
    return dimension + 4 if size > QUANTISED_ABOVE else 4 * dimension


def _merge(
    values: NDArray[N], moved: NDArray[np.int32], rows: Sequence[int], new: NDArray[N]
) -> NDArray[N]:
    """Return the values of vectors, some of them new, in another order."""
    stay = moved >= 0
    merged = np.empty((np.count_nonzero(stay) + len(rows), *values.shape[1:]), values.dtype)
    merged[moved[stay]] = values[stay]
    merged[rows] = new
    return merged


@cache
def _make_codec(dimension: int) -> Any:
    """Return FAISS's codec of numbers from -128 to 127; it holds no rows."""
    kind = faiss.ScalarQuantizer.QT_8bit_direct_signed
    return faiss.IndexScalarQuantizer(dimension, kind, faiss.METRIC_INNER_PRODUCT)
