"""Patterns as vectors, so that similar patterns have a high cosine.

The first dimensions are the embedding; the others are its hashed words, which also distinguish
patterns in languages that the model does not know.
"""

from math import sqrt
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


def restore(kept: Kept) -> Floats:
    """Restore a stored vector, shape (DIMENSIONS,)."""
    point = np.zeros(DIMENSIONS, np.float32)
    point[:MEANING] = kept.meaning
    point[MEANING:][kept.places] = kept.weights
    return point
