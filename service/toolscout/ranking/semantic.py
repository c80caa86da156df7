"""Meaning: static embeddings (model2vec) compared by inner product (FAISS, one thread).

A text's vector is the mean of its tokens' rows in one matrix, normalised. A text without a
known token has the zero vector: no opinion, similarity 0 to everything.
"""

import os
from collections.abc import Iterable
from itertools import chain
from math import sqrt
from pathlib import Path

# One thread each: a dot product over a few thousand rows takes microseconds, and waking a
# pool of threads for it takes milliseconds. Must be set before the libraries are loaded.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import faiss
import numpy as np
from model2vec import StaticModel
from numpy.typing import NDArray

from toolscout.ranking.tokens import MAX_WORD, spoken_name

faiss.omp_set_num_threads(1)

Floats = NDArray[np.float32]

_inner_products = faiss.fvec_inner_products_ny  # type: ignore[attr-defined]
_pointer = faiss.swig_ptr

BUNDLED_MODEL = Path(__file__).parent.parent / "model"

DESCRIPTION_WORDS = 80
"""Words of a description that are embedded; what a tool is for stands at its start."""

_WORD_CACHE_LIMIT = 100_000
"""Words whose token ids are remembered (about 20 MB); past it the cache starts anew."""


class Embedder:
    """Texts to unit vectors with one static model.

    The vector of a text is that of `StaticModel.encode` for its words joined by spaces, with
    identifiers split. Words are tokenised once and remembered, so a query costs a few dictionary
    look-ups and one sum of rows.
    """

    def __init__(self, source: str | Path = BUNDLED_MODEL) -> None:
        """Load a model2vec model from a folder, or by hub id where a network allows it."""
        self.source = str(source)
        model = StaticModel.from_pretrained(source, force_download=False)
        self._rows: NDArray = model.embedding
        self._mapping: NDArray | None = model.token_mapping
        self._weights: NDArray | None = model.weights
        self._unknown: int | None = model.unk_token_id
        self._tokenizer = model.tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._ids_of: dict[str, tuple[int, ...]] = {}
        self.dimension = int(self._rows.shape[1])

    def encode(self, found: Iterable[str]) -> Floats:
        """The vector of a text given as its words, shape (dimension,); zero if none is known."""
        try:
            ids = list(chain.from_iterable(map(self._ids_of.__getitem__, found)))
        except KeyError:
            ids = list(chain.from_iterable(map(self._word_ids, found)))
        if not ids:
            return np.zeros(self.dimension, np.float32)
        rows = self._rows[ids if self._mapping is None else self._mapping[ids]]
        if self._weights is None:
            total: Floats = rows.sum(axis=0, dtype=np.float32)
        else:
            total = self._weights[ids].astype(np.float32) @ rows.astype(np.float32)
        norm = sqrt(total @ total)
        if norm > 0:
            total *= np.float32(1.0 / norm)
        return total

    def _word_ids(self, word: str) -> tuple[int, ...]:
        known = self._ids_of.get(word)
        if known is None:
            if len(self._ids_of) >= _WORD_CACHE_LIMIT:
                self._ids_of.clear()
            spoken = spoken_name(word[:MAX_WORD])
            ids = self._tokenizer.encode(spoken, add_special_tokens=False).ids
            known = self._ids_of[word] = tuple(i for i in ids if i != self._unknown)
        return known


class VectorIndex:
    """The vectors of one catalogue's tools, compared exactly: flat is fastest to 10⁵ rows."""

    __slots__ = ("_dimension", "_first", "_index", "size")

    def __init__(self, vectors: Floats) -> None:
        self.size, self._dimension = vectors.shape
        self._index = faiss.IndexFlatIP(self._dimension)
        self._index.add(np.ascontiguousarray(vectors, np.float32))
        self._first = self._index.get_xb()

    def similarities(self, query: Floats) -> Floats:
        """Inner product of the query with every row, shape (size,)."""
        out = np.empty(self.size, np.float32)
        if self.size:
            _inner_products(_pointer(out), _pointer(query), self._first, self._dimension, self.size)
        return out

    def nearest(self, query: Floats, count: int) -> tuple[NDArray[np.int64], Floats]:
        """Rows and similarities of the `count` nearest, best first."""
        scores, rows = self._index.search(query[None], min(count, self.size))
        return rows[0], scores[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors."""
        return int(self.size * self._dimension * 4)
