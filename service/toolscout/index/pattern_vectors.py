"""Patterns as vectors, so that similar patterns have a high cosine.

The first dimensions are the embedding; the others are its hashed words, which also distinguish
patterns in languages that the model does not know.
"""

from math import sqrt
from struct import Struct
from struct import pack as pack_numbers
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from toolscout.index.embedder import Embedder, QueryVectors
from toolscout.text.passages import find_asking_part
from toolscout.text.query import Query, analyse

Floats = NDArray[np.float32]

MEANING = 128
"""Dimensions of the embedding that are used. All 256 gained nothing on the development sets."""

WORDS = 1_024
"""Dimensions of the words. With fewer, words of a language that the model does not know looked
similar by chance: with 128, random letters were as near to past patterns as real queries.
"""

DIMENSIONS = MEANING + WORDS

SIGN_BIT = 30
"""Of a hash: whether a weight is added or taken away."""

MEANING_SHARE = 0.6
"""Weight of the embedding relative to words, for patterns of which the model knows every word."""

WORDS_KEPT = 32
"""Number of a pattern's words that are stored, those with the highest weights."""

LAYOUT = 1
"""Version of the vectors; vectors of different versions cannot be compared."""

_HEAD = Struct("<ffH")
"""Scales of meaning and words, and the number of words, in front of a packed vector."""


class Kept(NamedTuple):
    """A stored vector, with its words in sparse form."""

    meaning: NDArray[np.float16]
    places: NDArray[np.uint16]
    weights: NDArray[np.float16]


_NO_MEANING = np.zeros(MEANING, np.float32)


class Pattern(NamedTuple):
    """The vector of a pattern, with its words in sparse form; the weights are plain numbers."""

    meaning: Floats
    """Shape (MEANING,)."""
    places: list[int]
    weights: list[float]


def read_pattern(query: Query, vectors: QueryVectors | None) -> Pattern:
    """Return the vector of an analysed pattern, as it was said."""
    if query.spoken is not None:
        query = query.spoken
        vectors = vectors and vectors.spoken
    meaning = _NO_MEANING
    share = 0.0
    if vectors is not None:
        leading = vectors.vectors[0][:MEANING]
        length = sqrt(leading.dot(leading))
        if length > 0:
            share = MEANING_SHARE * vectors.familiarity
            meaning = leading * np.float32(sqrt(share) / length)
            if len(meaning) < MEANING:  # a smaller model
                meaning = np.pad(meaning, (0, MEANING - len(meaning)))
    words = _hash_terms(query) if query.hashed is None else query.hashed
    length = sqrt(sum(weight * weight for weight in words.values()))
    scale = sqrt(1.0 - share) / length if length > 0 else 0.0
    return Pattern(meaning, list(words), [weight * scale for weight in words.values()])


def hash_term(term: str) -> int:
    """Return a number of 32 bits; not Python's own hash, for processes that share must agree."""
    return crc32(term.encode("utf-8", "replace"))


def _hash_terms(query: Query) -> dict[int, float]:
    """Return the weights of a query's own terms by their places among `WORDS`, with signs."""
    words: dict[int, float] = {}
    for term in query.terms:
        if term.via is None:
            code = hash_term(term.term)
            signed = term.weight if code >> SIGN_BIT & 1 else -term.weight
            words[code % WORDS] = words.get(code % WORDS, 0.0) + signed
    return words


def pack_text(text: str, embedder: Embedder) -> bytes:
    """Return a text as a packed pattern."""
    query = analyse(find_asking_part(text))
    return pack(read_pattern(query, embedder.query(query.embedding_words)))


def keep(point: Floats) -> Kept:
    """Convert a vector to its stored form."""
    words = point[MEANING:]
    places = words.nonzero()[0]
    if len(places) > WORDS_KEPT:
        heaviest = np.argpartition(-np.abs(words[places]), WORDS_KEPT)[:WORDS_KEPT]
        places = places[heaviest]
    return Kept(
        point[:MEANING].astype(np.float16),
        places.astype(np.uint16),
        words[places].astype(np.float16),
    )


def pack(pattern: Pattern) -> bytes:
    """Convert a vector to bytes for a store, about 150 for a short pattern: 8 bits per number."""
    meaning, places, weights = pattern
    if len(places) > WORDS_KEPT:
        heaviest = sorted(zip(map(abs, weights), places, weights, strict=True))[-WORDS_KEPT:]
        places = [place for _, place, _ in heaviest]
        weights = [weight for _, _, weight in heaviest]
    largest = float(np.maximum.reduce(np.abs(meaning), initial=0.0))
    meaning_scale = largest / 127 or 1.0
    weight_scale = max(map(abs, weights), default=0.0) / 127 or 1.0
    rounded = np.rint(meaning * np.float32(1.0 / meaning_scale)).astype(np.int8)
    count = len(places)
    return b"".join(
        (
            _HEAD.pack(meaning_scale, weight_scale, count),
            rounded.tobytes(),
            pack_numbers(f"<{count}H", *places),
            pack_numbers(f"{count}b", *(round(weight / weight_scale) for weight in weights)),
        )
    )


def unpack(packed: bytes) -> Floats:
    """Convert the bytes of a vector to the vector, shape (DIMENSIONS,).

    Raises:
        ValueError: they are no packed vector.
    """
    if len(packed) < _HEAD.size:
        raise ValueError("a vector is too short")
    meaning_scale, weight_scale, count = _HEAD.unpack_from(packed)
    if len(packed) != _HEAD.size + MEANING + 3 * count:
        raise ValueError("a vector has another length than it says")
    if not 0 <= meaning_scale <= 1 or not 0 <= weight_scale <= 1:
        raise ValueError("a vector is longer than a unit vector")
    places = np.frombuffer(packed, "<u2", count, _HEAD.size + MEANING)
    if count and places.max() >= WORDS:
        raise ValueError("a vector has more words than there are places")
    point = np.zeros(DIMENSIONS, np.float32)
    point[:MEANING] = np.frombuffer(packed, np.int8, MEANING, _HEAD.size)
    point[:MEANING] *= np.float32(meaning_scale)
    weights = np.frombuffer(packed, np.int8, count, _HEAD.size + MEANING + 2 * count)
    point[MEANING:][places] = weights * np.float32(weight_scale)
    return point


def restore(kept: Kept) -> Floats:
    """Restore a stored vector, shape (DIMENSIONS,)."""
    point = np.zeros(DIMENSIONS, np.float32)
    point[:MEANING] = kept.meaning
    point[MEANING:][kept.places] = kept.weights
    return point
