"""Fuse lexical and semantic scores.

The weighted sum of max-normalised BM25 and min-max-normalised cosine is the default because
it measured best; reciprocal rank fusion can be chosen for comparison (see docs/ranking.md).
"""

import numpy as np
from numpy.typing import NDArray

from toolscout.index.facets import Allowed

Floats = NDArray[np.float32]

SEMANTIC_WEIGHT = 0.7
"""Share of the cosine; chosen on the development sets."""

UNSPACED_WEIGHT = 0.6
"""The same in scripts without spaces between words: meaning goes by way of English there, and
bigrams of characters find tools of the same language well.
"""

LEFT_WEIGHT = 0.8
"""The same where everyday words of such a script are translated and others are left: English tools
have words for a part of the question only. Of .6 to .95, .8 to .9 were best in Chinese and
Japanese.
"""

ONE_WORD_WEIGHT = 0.5
"""The same for a request of one word: a tool that has it, or a synonym of it, is not passed by one
that is only somewhat alike.
"""

WHOLE_WORDS = 2.0
"""What a tool has to have of a query, in words as rare as one that no tool has, for words to have
their whole share of a score. Less, as where only stop words stand in names, gives a share in
proportion. Of .3 to 2: on dev sets nDCG@5 + .001 ± .001, on those that the model was tuned on
+ .011, over names without descriptions P@1 + .030.
"""

WHOLE_SHARE = 0.5
"""The same as a share of the query's words; either is enough. Of 0, .4 and .5."""

PLAIN_SHARE = 0.1
"""What BM25 over one text adds beside the fields, for every word of the question alike: in a long
description several plain words of a question may tell more than one in a name. Of .06, .1 and .15,
.1 gains most for vendors' tests; what people say to tools without descriptions loses .003.
"""

MIN_SPAN = 0.3
"""Smallest span of cosines that is scaled to 1, so that near-duplicates are ranked by words and not
by tiny differences of meaning.
"""

RRF_K = 60
"""Rank constant of Cormack et al., SIGIR 2009."""

RRF_DEPTH = 30
"""Minimum number of ranks of each list that count; for longer answers it is `top_k`."""


def weigh_meaning(
    unspaced: float, *, is_one_word: bool = False, is_translated: bool = False
) -> float:
    """Return the share of the cosine for a query, by its share of unspaced scripts."""
    if is_one_word:
        return ONE_WORD_WEIGHT
    if is_translated and unspaced:
        return LEFT_WEIGHT
    return SEMANTIC_WEIGHT + unspaced * (UNSPACED_WEIGHT - SEMANTIC_WEIGHT)


def sum_weighted(
    lexical: Floats, cosine: Floats, weight: float = SEMANTIC_WEIGHT, word_share: float = 1.0
) -> Floats:
    """Max-normalised `lexical` and min-max-normalised `cosine`, both of shape (tools,).

    `word_share`, 0 to 1, lessens the share of `lexical`. If one side has no evidence (no word hit,
    or a zero query vector), the other decides.
    """
    if not len(lexical):
        return lexical
    top = find_highest(lexical)
    meaning = scale(cosine, weight)
    if find_highest(meaning) <= 0:
        alone: Floats = lexical / np.float32(top if top > 0 else 1.0)
        return alone
    if top <= 0:
        return meaning
    fused: Floats = lexical * np.float32((1.0 - weight) * word_share / top) + meaning
    return fused


def scale_to_top(scores: Floats, weight: float) -> Floats:
    """Scale scores of one tool or more so that the highest is `weight`; zeros stay."""
    top = find_highest(scores) if len(scores) else np.float32(0)
    moved: Floats = scores * np.float32(weight / top if top > 0 else 0.0)
    return moved


def scale(cosine: Floats, weight: float = 1.0) -> Floats:
    """Scale the cosines of one tool or more to 0..`weight`, by a span of at least `MIN_SPAN`."""
    low, span = scale_of(cosine)
    moved: Floats = (cosine - low) * np.float32(weight / span)
    return moved


def scale_of(cosine: Floats) -> tuple[np.float32, float]:
    """Return the cosine that is scaled to 0, and the difference from it that is scaled to 1."""
    low = cosine[cosine.argmin()]
    high = find_highest(cosine)
    if low == high:  # one tool, or one that is allowed: there is nothing that it stands out from
        low = np.float32(0)
    return low, max(float(high - low), MIN_SPAN)


def sink_others(cosine: Floats, allowed: Allowed) -> Floats:
    """Give the tools that are not allowed the lowest cosine of the others.

    So they affect neither the ranking of the others nor its scale.
    """
    lowest = cosine[allowed].min() if allowed.any() else np.float32(0)
    return np.where(allowed, cosine, lowest)


def find_highest(scores: Floats) -> np.float32:
    """Return the highest of one score or more; by its position, which is four times faster."""
    top: np.float32 = scores[scores.argmax()]
    return top


def fuse_ranks(lexical: Floats, cosine: Floats, top_k: int) -> Floats:
    """Σ 1 / (K + rank) over the lists in which a tool is within the depth."""
    depth = min(max(top_k, RRF_DEPTH), len(lexical))
    fused = np.zeros(len(lexical), np.float32)
    for scores in (lexical, cosine):
        order = np.argsort(-scores, kind="stable")[:depth]
        order = order[scores[order] > 0]
        fused[order] += 1.0 / (RRF_K + 1 + np.arange(len(order), dtype=np.float32))
    return fused
