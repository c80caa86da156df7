"""The vectors of a catalog, compared with those of a query."""

import faiss
import numpy as np

from toolscout.index.vectors import Floats, QueryVectors

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
