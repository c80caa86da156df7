"""What several opinions of one tool add up to: fused evidence, experience, boosts."""

from dataclasses import replace

import msgspec
import numpy as np

from toolscout.ranking import fuse
from toolscout.ranking.ask import Floats, Ranking

NO_SIMILARITY = 0.12
"""Cosine below which a tool that shares no word with the query is not offered at all."""


def combined(ranking: Ranking, top_k: int) -> Floats:
    """Fuse what the ranker has; zero where a tool has no evidence worth an answer."""
    lexical, cosine = ranking.lexical, ranking.cosine
    if cosine is None:
        return np.zeros(0, np.float32) if lexical is None else lexical.bm25
    if lexical is None:
        return np.where(cosine >= NO_SIMILARITY, cosine, np.float32(0))
    if ranking.ranker == "rrf":
        return fuse.reciprocal_rank(lexical.bm25, cosine, top_k)
    weight = fuse.SEMANTIC_WEIGHT * ranking.familiarity
    fused = fuse.weighted_sum(lexical.bm25, cosine, weight)
    fused *= (lexical.bm25 > 0) | (cosine >= NO_SIMILARITY)
    return fused


def with_experience(ranking: Ranking) -> Floats:
    """Add what worked before to the scores, which may make a match of what had no evidence.

    What failed before is lowered by places instead (`lower_failed`): a failure does not say that
    the tool was the wrong one.
    """
    if ranking.learned is None:
        return ranking.scores
    moved: Floats = ranking.scores + np.maximum(ranking.learned, np.float32(0))
    return moved


def boosted(ranking: Ranking, factors: Floats, top_k: int) -> Floats:
    """The scores again, from evidence times factors; what had no score gets none.

    Not the fused score is multiplied: scaled between the best and the worst tool, it can be far
    apart for two tools that are nearly alike.
    """
    if ranking.cosine is None or ranking.ranker == "regex":
        return ranking.scores * factors
    lexical, cosine = ranking.lexical, ranking.cosine
    if lexical is not None:
        lexical = msgspec.structs.replace(lexical, bm25=lexical.bm25 * factors)
    cosine = np.where(cosine > 0, cosine * factors, cosine)
    moved = replace(ranking, lexical=lexical, cosine=cosine)
    return combined(moved, top_k) * (ranking.scores > 0)
