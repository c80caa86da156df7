"""A pattern as a point in a space where like patterns lie close together.

The first dimensions hold what the pattern means, by the embedding model; the others hold its words,
hashed, which also tells patterns apart that the model does not understand.
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
"""Dimensions of the meaning. The first ones of an embedding carry most of it; all 256 gained
nothing on the development sets."""

WORDS = 1_024
"""Dimensions of the words. With fewer, words of a language that the model does not know looked
alike by chance: with 128, strings of letters were as near to past patterns as good queries."""

DIMENSIONS = MEANING + WORDS

MEANING_SHARE = 0.6
"""Weight of meaning beside words, for patterns that the model knows every word of."""

WORDS_KEPT = 32
"""Words of a pattern that are remembered, the heaviest."""


class Kept(NamedTuple):
    """A point as it is remembered: of its words only those that it has."""

    meaning: NDArray[np.float16]
    places: NDArray[np.uint16]
    weights: NDArray[np.float16]


def pattern_vector(query: Query, vectors: QueryVectors | None) -> Floats:
    """The point of an analysed pattern, a unit vector of shape (DIMENSIONS,)."""
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
            # Not Python's own hash: processes that share what they learned must agree.
            code = crc32(term.term.encode("utf-8", "replace"))
            words[code % WORDS] += term.weight if code >> 30 & 1 else -term.weight
    length = sqrt(words @ words)
    if length > 0:
        words *= np.float32(sqrt(1.0 - share) / length)
    return point


def keep(point: Floats) -> Kept:
    """A point without the words that it has not."""
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
    """The point that was kept, shape (DIMENSIONS,)."""
    point = np.zeros(DIMENSIONS, np.float32)
    point[:MEANING] = kept.meaning
    point[MEANING:][kept.places] = kept.weights
    return point
