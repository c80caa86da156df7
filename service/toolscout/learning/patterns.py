"""A pattern as a point in a space where like patterns lie close together.

Half of the dimensions hold what the pattern means, by the embedding model; half hold its words,
hashed, which also tells patterns apart that the model does not understand.
"""

from math import sqrt
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from toolscout.ranking.query import Query
from toolscout.ranking.semantic import QueryVectors

Floats = NDArray[np.float32]

HALF = 128
"""Dimensions of either half. The first ones of an embedding carry most of it; all 256 gained
nothing on the development sets."""

DIMENSIONS = 2 * HALF

MEANING_SHARE = 0.6
"""Weight of meaning beside words, for patterns that the model knows every word of."""


def pattern_vector(query: Query, vectors: QueryVectors | None) -> Floats:
    """The point of an analysed pattern, a unit vector of shape (DIMENSIONS,)."""
    point = np.zeros(DIMENSIONS, np.float32)
    share = 0.0
    if vectors is not None:
        meaning = vectors.vectors[0][:HALF]
        length = sqrt(meaning @ meaning)
        if length > 0:
            share = MEANING_SHARE * vectors.familiarity
            point[: len(meaning)] = meaning * np.float32(sqrt(share) / length)
    words = point[HALF:]
    for term in query.terms:
        if term.via is None:
            # Not Python's own hash: processes that share what they learned must agree.
            code = crc32(term.term.encode("utf-8", "replace"))
            words[code % HALF] += term.weight if code >> 16 & 1 else -term.weight
    length = sqrt(words @ words)
    if length > 0:
        words *= np.float32(sqrt(1.0 - share) / length)
    return point
