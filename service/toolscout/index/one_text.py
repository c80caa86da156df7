"""BM25 over a tool as one text, as rank-bm25 computes it, from the postings of its fields."""

import numpy as np
from numpy.typing import NDArray

from toolscout.index.counts import Counts

PLAIN_K1 = 1.5
"""How soon a repeated word counts no more, as in rank-bm25."""

PLAIN_B = 0.75
"""How much the length of a text counts, as in rank-bm25."""


def discount_texts(lengths: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return how much the length of each tool discounts it; `lengths` are those of its fields."""
    of_tools = lengths.sum(axis=1, dtype=np.float64)
    average = max(float(of_tools.mean()), 1e-9) if len(of_tools) else 1.0
    discounts: NDArray[np.float64] = PLAIN_K1 * (1.0 - PLAIN_B + PLAIN_B * of_tools / average)
    return discounts


def weigh_one_text(
    counts: Counts,
    tools: NDArray[np.int32],
    discounts: NDArray[np.float64],
    idf: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return what each posting is worth where all fields are one text; `idf` is that of each."""
    name, description, properties = counts.T
    count = np.add(name, description, dtype=np.float64)  # sum() takes five times as long
    count += properties
    worth: NDArray[np.float64] = idf * count * (PLAIN_K1 + 1.0) / (count + discounts[tools])
    return worth
