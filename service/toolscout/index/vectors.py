"""Meaning: static embeddings (model2vec) compared by inner product (FAISS, one thread).

A text's vector is the mean of its tokens' rows in one matrix, normalised. A text without a
known token has the zero vector: no opinion, similarity 0 to everything.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import faiss
import msgspec
import numpy as np
from model2vec import StaticModel
from numpy.typing import NDArray

from toolscout.text.tokens import MAX_WORD, spoken_name

faiss.omp_set_num_threads(1)

Floats = NDArray[np.float32]
Rows = NDArray[np.intp]

_inner_products = faiss.fvec_inner_products_ny  # type: ignore[attr-defined]
_pointer = faiss.swig_ptr

BUNDLED_MODEL = Path(__file__).parent.parent / "model"

PROPERTY_SHARE = 0.35
"""Weight of the properties' vector beside that of the text."""

SENTENCE_SHARE = 0.8
"""Weight of the best fitting sentence beside the whole query."""

KNOWN_EXCESS = 1.5
"""Letters per token, beyond the first, from which a word counts as fully known."""

TELLING = 12
"""Tokens of a query that names are compared with."""

_PIECE = 4_096
"""Tokens whose vectors are in memory as floats at a time."""

_WORD_CACHE_LIMIT = 100_000
"""Words whose token ids are remembered (about 20 MB); past it the cache starts anew."""


class QueryVectors(msgspec.Struct, frozen=True, eq=False):
    """A query as a whole, then by sentences, each of shape (dimension,)."""

    vectors: list[Floats]
    familiarity: float
    """How much of the query the model knows, 0 to 1."""


class TellingTokens(NamedTuple):
    """The tokens of a query that say most."""

    ids: Rows
    distinct: int
    """How many distinct tokens the query has."""


class Embedder:
    """Texts to unit vectors with one static model.

    The vector of a text is that of `StaticModel.encode` for its words joined by spaces, with
    identifiers split. Words are tokenised once and remembered, so a query costs a few dictionary
    look-ups and one sum of rows.
    """

    def __init__(self, source: str | Path = BUNDLED_MODEL) -> None:
        """Load a model2vec model from a folder, or by hub id where a network allows it."""
        model = StaticModel.from_pretrained(source, force_download=False)
        self._rows: NDArray = model.embedding
        self._mapping: NDArray | None = model.token_mapping
        self._weights: NDArray | None = model.weights
        self._unknown: int | None = model.unk_token_id
        self._tokenizer = model.tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._ids_of: dict[str, tuple[int, ...]] = {}
        self._familiar: dict[str, float] = {}
        self.dimension = int(self._rows.shape[1])
        self.lengths = self._lengths()
        """Of each token's vector; it grows with how telling the token is."""

    def query(
        self,
        spoken: Sequence[Sequence[str]],
        earlier: Sequence[tuple[Sequence[str], float]] = (),
    ) -> QueryVectors | None:
        """The vectors of a query and of its sentences; None when no word of it is known.

        What was said `earlier` adds to the whole by its weight, and is compared like a sentence
        that is as much less similar to everything.
        """
        if earlier:
            return self._with_earlier(spoken, earlier)
        familiar = self.familiarity(spoken[0])
        if familiar <= 0:
            return None
        vectors = [self.encode(found) for found in spoken]
        if not np.count_nonzero(vectors[0]):
            return None
        return QueryVectors(vectors, familiar)

    def _with_earlier(
        self, spoken: Sequence[Sequence[str]], earlier: Sequence[tuple[Sequence[str], float]]
    ) -> QueryVectors | None:
        familiar = self.familiarity(chain(spoken[0], *(found for found, _ in earlier)))
        whole, part = np.zeros((2, self.dimension), np.float32)
        self._sum(spoken[0], whole)
        parts = [self.encode(found) for found in (spoken[1:] or spoken)]
        for found, weight in earlier:
            part.fill(0)
            self._sum(found, part)
            part *= np.float32(weight)
            whole += part
            parts.append(_unit(part.copy()) * np.float32(weight))
        if familiar <= 0 or not np.count_nonzero(whole):
            return None
        return QueryVectors([_unit(whole), *parts], familiar)

    def telling_tokens(self, found: Sequence[str]) -> TellingTokens:
        """The tokens of some words whose vectors are longest, at most TELLING of them."""
        distinct = np.array(list(dict.fromkeys(self.token_ids(found))), np.intp)
        if len(distinct) <= TELLING:
            return TellingTokens(distinct, len(distinct))
        longest = (-self.lengths[distinct]).argsort(kind="stable")[:TELLING]
        return TellingTokens(distinct[longest], len(distinct))

    def best_matches(self, tokens: Rows, telling: TellingTokens) -> Floats:
        """For each token its best inner product with a unit vector of the telling ones.

        Shape (tokens,).
        """
        # Gathered and converted together: for some dozens of rows the calls cost most.
        vectors = self.token_vectors(np.concatenate((telling.ids, tokens)))
        split = len(telling.ids)
        products = vectors[:split] @ vectors[split:].T
        products /= self.lengths[telling.ids, None]
        best: Floats = np.maximum.reduce(products)
        return best

    def familiarity(self, found: Iterable[str]) -> float:
        """How far the model knows the words, 0 to 1, long words counting more.

        A word that the vocabulary has as a whole is known; one that falls apart into single
        letters (gibberish) has a vector that means nothing. Letters of pieces that the vocabulary
        does not have (most of Chinese, Japanese and Korean) are unknown.
        """
        total = known = 0.0
        familiar = self._familiar
        for word in found:
            letters = familiar.get(word)
            if letters is None:
                letters = self._learn(word)[1]
            total += len(word)
            known += letters
        return known / total if total else 0.0

    def _learn(self, word: str) -> tuple[tuple[int, ...], float]:
        """Find a word's tokens and how many of its letters count as known, and remember both."""
        for words in (self._familiar, self._ids_of):
            if len(words) >= _WORD_CACHE_LIMIT:
                words.clear()
        ids, covered = self._pieces(word)
        known = (covered / len(ids) - 1.0) / KNOWN_EXCESS if ids else 0.0
        letters = min(covered, len(word)) * min(1.0, max(0.0, known))
        self._ids_of[word], self._familiar[word] = ids, letters
        return ids, letters

    def tools(self, texts: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Floats:
        """The vectors of tools, each given as the words of its text and of its properties.

        Appended to the text, properties blur it; as a vector of their own, at a lower weight, they
        help. Shape (tools, dimension).
        """
        sums = np.zeros((2, len(texts), self.dimension), np.float32)
        for row, pair in enumerate(texts):
            for part, found in zip(sums, pair, strict=True):
                self._sum(found, part[row])
        text, properties = map(_units, sums)
        return _units(text + np.float32(PROPERTY_SHARE) * properties)

    def encode(self, found: Sequence[str]) -> Floats:
        """The vector of a text given as its words, shape (dimension,); zero if none is known."""
        total = np.zeros(self.dimension, np.float32)
        self._sum(found, total)
        return _unit(total)

    def _lengths(self) -> Floats:
        every = np.arange(len(self._rows if self._mapping is None else self._mapping))
        found = [
            np.linalg.norm(self.token_vectors(every[at : at + _PIECE]), axis=1)
            for at in range(0, len(every), _PIECE)
        ]
        lengths: Floats = np.maximum(np.concatenate(found), 1e-9, dtype=np.float32)
        return lengths

    def token_ids(self, found: Sequence[str]) -> list[int]:
        """The tokens of a text given as its words."""
        try:
            return list(chain.from_iterable(map(self._ids_of.__getitem__, found)))
        except KeyError:
            return list(chain.from_iterable(map(self._word_ids, found)))

    def token_vectors(self, ids: Sequence[int] | NDArray[np.integer]) -> Floats:
        """The vectors of tokens as they are added up, shape (tokens, dimension)."""
        rows = self._rows.take(ids if self._mapping is None else self._mapping[ids], axis=0)
        vectors: Floats = rows.astype(np.float32)
        if self._weights is not None:
            vectors *= self._weights[ids].astype(np.float32)[:, None]
        return vectors

    def _sum(self, found: Sequence[str], out: Floats) -> None:
        """Add up the rows of the words' tokens."""
        ids = self.token_ids(found)
        if not ids:
            return
        rows = self._rows.take(ids if self._mapping is None else self._mapping[ids], axis=0)
        if self._weights is None:
            np.add.reduce(rows, axis=0, dtype=np.float32, out=out)
        else:
            out[:] = self._weights[ids].astype(np.float32) @ rows.astype(np.float32)

    def is_word(self, word: str) -> bool:
        """Whether the model's vocabulary has a word as a whole: then it is no typing error."""
        ids = self._ids_of.get(word)
        if ids is None:  # a word of a query: its familiarity is asked for next
            ids = self._learn(word)[0]
        return len(ids) == 1 and (word.isascii() or self._is_whole(word))

    def _is_whole(self, word: str) -> bool:
        return self._pieces(word)[1] >= len(word)

    def _word_ids(self, word: str) -> tuple[int, ...]:
        known = self._ids_of.get(word)
        if known is None:
            if len(self._ids_of) >= _WORD_CACHE_LIMIT:
                self._ids_of.clear()
            known = self._ids_of[word] = self._pieces(word)[0]
        return known

    def _pieces(self, word: str) -> tuple[tuple[int, ...], int]:
        """Tokens of a word that the vocabulary has, and how many letters they cover."""
        encoded = self._tokenizer.encode(spoken_name(word[:MAX_WORD]), add_special_tokens=False)
        known = [
            (token, end - start)
            for token, (start, end) in zip(encoded.ids, encoded.offsets, strict=True)
            if token != self._unknown
        ]
        return tuple(token for token, _ in known), sum(letters for _, letters in known)


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


def inner_products(rows: Floats, vector: Floats) -> Floats:
    """The inner product of every row with a vector, by FAISS: one thread, whatever the size."""
    out = np.empty(len(rows), np.float32)
    if len(rows):
        first = _pointer(np.ascontiguousarray(rows))
        _inner_products(_pointer(out), _pointer(vector), first, rows.shape[1], len(rows))
    return out


def _units(vectors: Floats) -> Floats:
    """Rows scaled to length one; zero rows stay."""
    norms = np.sqrt(np.einsum("td,td->t", vectors, vectors))
    scales = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    scaled: Floats = vectors * scales[:, None]
    return scaled


def _unit(vector: Floats) -> Floats:
    """Scaled to length one in place; the zero vector stays."""
    norm = sqrt(vector.dot(vector))
    if norm > 0:
        vector *= np.float32(1.0 / norm)
    return vector
