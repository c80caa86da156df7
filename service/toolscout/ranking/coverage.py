"""Cover the clauses of a request for several tools, so that each finds its tool among the first.

Greedy facility location (Nemhauser, Wolsey and Fisher 1978): every place goes to the tool that adds
most to the coverage of the clauses and the score of the whole request.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from toolscout.index.embedder import Embedder
from toolscout.index.vector_index import VectorIndex
from toolscout.ranking import calibration
from toolscout.ranking.ask import Floats, Ranking
from toolscout.ranking.choose import among_best
from toolscout.ranking.fuse import highest, scaled, without
from toolscout.text.clauses import clauses, may_have_several
from toolscout.text.tokens import words

WHOLE = 0.7
"""Weight of the score for the whole request, relative to the coverage of the clauses."""

RELEVANT = 0.05
"""Relevance of a clause's best tool, by meaning, below which the clause is ignored."""

DEPTH = 10
"""Number of best tools of a clause that may come before the best of the whole request."""

DEPTH_OF_WHOLE = 20
"""Number of best tools of the whole request that are considered, whatever `top_k` is."""


def cover(ranking: Ranking) -> list[int] | None:
    """Return the ranked rows in the order in which they cover the clauses; None for one clause.

    Clauses are compared by meaning alone: a clause is short, its words may be in any tool, and
    those of the whole request have been counted.
    """
    embedder, index = ranking.embedder, ranking.source.vectors
    if embedder is None or index is None or not may_have_several(ranking.query.resolved_text):
        return None
    parts = clauses(ranking.query.resolved_text)
    if len(parts) < 2:
        return None
    wishes = list(_wishes(ranking, parts, embedder, index))
    if len(wishes) < 2:
        return None
    is_candidate = np.zeros(len(ranking.scores), bool)
    is_candidate[among_best(ranking.scores, DEPTH_OF_WHOLE)] = True
    for wish in wishes:
        is_candidate[among_best(wish, DEPTH)] = True
    rows = np.flatnonzero(is_candidate)
    leading = _greedy(np.array([wish[rows] for wish in wishes]), ranking.scores[rows])
    led: list[int] = rows[list(islice(leading, len(ranking.ranked)))].tolist()
    taken = set(led)
    return led + [row for row in ranking.ranked if row not in taken]


def _wishes(
    ranking: Ranking, parts: Sequence[str], embedder: Embedder, index: VectorIndex
) -> Iterator[Floats]:
    """Return how well each tool fits each relevant clause, 0 to 1, shape (clauses, tools)."""
    unspaced, allowed = ranking.query.unspaced, ranking.allowed
    is_strange = ranking.vectors is not None and ranking.vectors.is_strange
    for part in parts:
        vectors = embedder.query([words(part)], is_strange=is_strange)
        if vectors is None or not calibration.is_familiar(vectors.familiarity, unspaced):
            continue
        cosine, _ = index.similarities(vectors)
        if allowed is not None:
            cosine = without(cosine, allowed)
        best = calibration.Evidence(None, None, float(highest(cosine)))
        if calibration.relevance(best) >= RELEVANT:
            yield scaled(cosine)


def _greedy(served: Floats, scores: Floats) -> Iterator[int]:
    """Return the columns that cover the most, until nothing is left to cover.

    Args:
        served: how well each tool fits each clause, 0 to 1, shape (clauses, tools).
        scores: of each tool for the whole request, shape (tools,).
    """
    left = scores * np.float32(WHOLE / max(scores.max(), 1e-9))
    each = np.float32(1.0 - WHOLE)
    most = served.max(axis=1, keepdims=True)
    covered = np.zeros_like(most)
    while (covered < most).any():
        place = int((np.maximum(served, covered).sum(axis=0) * each + left).argmax())
        yield place
        left[place] = -np.inf
        np.maximum(covered, served[:, place, None], out=covered)
