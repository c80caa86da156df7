"""Patterns as vectors, so that similar patterns have a high cosine.

The first dimensions are the embedding; the others are its hashed words, which also distinguish
patterns in languages that the model does not know.
"""

from math import sqrt
from struct import Struct
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from toolscout.index.vectors import QueryVectors
from toolscout.text.query import Query

Floats = NDArray[np.float32]

MEANING = 128
"""Dimensions of the embedding that are used. All 256 gained nothing on the development sets."""

WORDS = 1_024
"""Dimensions of the words. With fewer, words of a language that the model does not know looked
similar by chance: with 128, random letters were as near to past patterns as real queries.
"""

DIMENSIONS = MEANING + WORDS

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


def pattern_vector(query: Query, vectors: QueryVectors | None) -> Floats:
    """Return the unit vector of an analysed pattern, shape (DIMENSIONS,)."""
    point = np.zeros(DIMENSIONS, np.float32)
    share = 0.0
    if vectors is not None:
        meaning = vectors.vectors[0][:MEANING]
        length = sqrt(meaning @ meaning)
        if length > 0:
            share = MEANING_SHARE * vectors.familiarity
            point[: len(meaning)] = meaning * np.float32(sqrt(share) / length)
    words = point[MEANING:]
    for term in query.terms:
        if term.via is None:
            # Not Python's own hash, because processes that share experience must agree.
            code = crc32(term.term.encode("utf-8", "replace"))
            words[code % WORDS] += term.weight if code >> 30 & 1 else -term.weight
    length = sqrt(words @ words)
    if length > 0:
        words *= np.float32(sqrt(1.0 - share) / length)
    return point


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


def pack(point: Floats) -> bytes:
    """Convert a vector to bytes for a store, about 150 for a short pattern: 8 bits per number."""
    kept = keep(point)
    meaning, meaning_scale = _rounded(kept.meaning)
    weights, weight_scale = _rounded(kept.weights)
    head = _HEAD.pack(meaning_scale, weight_scale, len(weights))
    return head + meaning.tobytes() + kept.places.astype("<u2").tobytes() + weights.tobytes()


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


def _rounded(numbers: NDArray[np.float16]) -> tuple[NDArray[np.int8], float]:
    """Return numbers as 8-bit integers, and the scale to multiply them with."""
    largest = float(np.abs(numbers).max(initial=0.0))
    scale = largest / 127 or 1.0
    return np.rint(numbers.astype(np.float32) / np.float32(scale)).astype(np.int8), scale


def restore(kept: Kept) -> Floats:
    """Restore a stored vector, shape (DIMENSIONS,)."""
    point = np.zeros(DIMENSIONS, np.float32)
    point[:MEANING] = kept.meaning
    point[MEANING:][kept.places] = kept.weights
    return point
