"""BM25 over a tool as one text, as rank-bm25 computes it, from the postings of its fields."""

import numpy as np
from numpy.typing import NDArray

from toolscout.index.inverted import InvertedIndex

Floats = NDArray[np.float32]

PLAIN_K1 = 1.5
"""How soon a repeated word counts no more, as in rank-bm25."""

PLAIN_B = 0.75
"""How much the length of a text counts, as in rank-bm25."""


def weigh_one_text(index: InvertedIndex, idf: NDArray[np.float64]) -> Floats:
    """Return what each posting is worth where all fields are one text; `idf` is that of each."""
    name, description, properties = index.counts.T
    counts = np.add(name, description, dtype=np.float64)  # sum() takes five times as long
    counts += properties
    lengths = index.lengths.sum(axis=1, dtype=np.float64)
    average = max(float(lengths.mean()), 1e-9) if len(lengths) else 1.0
    discounts = PLAIN_K1 * (1.0 - PLAIN_B + PLAIN_B * lengths / average)
    weights = idf * counts * (PLAIN_K1 + 1.0) / (counts + discounts[index.rows])
    made: Floats = weights.astype(np.float32)
    return made
