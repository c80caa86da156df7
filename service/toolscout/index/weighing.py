"""What each posting is worth: BM25F (Zaragoza et al., TREC 2004), and BM25 over one text.

Every field has its own weight and length normalisation; the weighted frequencies are summed and
then saturated once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolscout.index.counts import Counts
from toolscout.index.inverted import InvertedIndex
from toolscout.index.one_text import discount_texts, weigh_one_text

Floats = NDArray[np.float32]

WEIGHED_AT_ONCE = 32_768
"""Postings that are weighed together: what is in between stays in the processor's cache. All of
100,000 tools at once take 200 MB, and three times as long where these are new to the process."""


@dataclass(frozen=True, slots=True)
class Bm25Weights:
    """The free numbers of the formula; the defaults were chosen on the development sets."""

    k1: float = 1.2
    field: tuple[float, float, float] = (2.5, 1.0, 0.3)
    """How much one occurrence counts in name, description and property text."""
    b: tuple[float, float, float] = (0.75, 0.75, 0.75)
    """How strongly each field's length discounts it: 0 not at all, 1 fully."""


def weigh_postings(
    index: InvertedIndex, idf: NDArray[np.float64], formula: Bm25Weights
) -> tuple[Floats, Floats]:
    """Return what each posting is worth over fields, and over one text; `idf` is that of terms."""
    by_field = _discount_fields(index.lengths, formula)
    by_text = discount_texts(index.lengths)
    idf = np.repeat(idf, index.frequencies)
    weights = np.empty(len(idf), np.float32)
    plain = np.empty(len(idf), np.float32)
    for at in range(0, len(idf), WEIGHED_AT_ONCE):
        some = slice(at, at + WEIGHED_AT_ONCE)
        counts = index.counts[some]
        rows = index.rows[some]
        tf = _weigh_frequency(counts, rows, by_field)
        gain = idf[some] * tf
        gain *= formula.k1 + 1.0
        tf += formula.k1
        gain /= tf
        weights[some] = gain
        plain[some] = weigh_one_text(counts, rows, by_text, idf[some])
    return weights, plain


def _discount_fields(lengths: NDArray[np.int32], formula: Bm25Weights) -> list[NDArray[np.float64]]:
    """Return for each field what one occurrence counts in each tool, by the field's length there.

    `lengths` says how many terms each tool has per field.
    """
    by_field = []
    for field, (weight, b) in enumerate(zip(formula.field, formula.b, strict=True)):
        length = lengths[:, field]
        average = max(float(length.mean()), 1e-9) if len(length) else 1.0
        by_field.append(weight / np.maximum(1.0 - b + b * length / average, 1e-9))
    return by_field


def _weigh_frequency(
    counts: Counts, tools: NDArray[np.int32], by_field: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Add up the discounted counts of each posting's fields; `tools` says whose it is."""
    total = np.zeros(len(counts))
    for field, discount in enumerate(by_field):
        total += counts[:, field] * discount[tools]
    return total
