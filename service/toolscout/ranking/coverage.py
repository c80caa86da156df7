"""Cover the clauses of a request for several tools, so that each finds its tool among the first.

Only where two clauses have verbs of their own and different best tools: other requests gain nothing
from being cut. Greedy facility location (Nemhauser, Wolsey and Fisher 1978): every place goes to
the tool that adds most to the coverage of the clauses and the score of the whole request.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

import numpy as np

from toolscout import data
from toolscout.index.embedder import Embedder
from toolscout.index.vector_index import VectorIndex
from toolscout.ranking import calibration
from toolscout.ranking.ask import Floats, Ranking
from toolscout.ranking.choose import find_best
from toolscout.ranking.fuse import find_highest, scale, sink_others
from toolscout.ranking.native.joining import find_reader
from toolscout.text.tokens import split_words
from toolscout.tools.risk import find_verb_kind

MAX_CLAUSES = 6
"""Maximum number of clauses."""

MIN_WORDS = 3
"""Minimum words of a clause; shorter ones ("Rome and Paris") ask for nothing."""

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
    embedder = ranking.embedder
    index = ranking.source.vectors
    if embedder is None or index is None or not ranking.query.may_divide:
        return None
    parts = split_clauses(ranking.query.resolved_text)
    served = _measure_service(ranking, parts, embedder, index) if len(parts) > 1 else []
    if len({int(one.argmax()) for one in served}) < 2:
        return None
    is_candidate = np.zeros(len(ranking.scores), bool)
    is_candidate[find_best(ranking.scores, DEPTH_OF_WHOLE)] = True
    for one in served:
        is_candidate[find_best(one, DEPTH)] = True
    rows = np.flatnonzero(is_candidate)
    leading = _choose_greedily(np.array([one[rows] for one in served]), ranking.scores[rows])
    led: list[int] = rows[list(islice(leading, len(ranking.ranked)))].tolist()
    taken = set(led)
    return led + [row for row in ranking.ranked if row not in taken]


def split_clauses(text: str) -> list[str]:
    """Split an English text at the ends of sentences and at words such as "and" and "then".

    Only clauses with a verb are returned: the others name what one of these is about.
    """
    cut, verbs = _load_rules()
    parts = [part.strip() for part in cut.split(text)]
    if len(parts) < 2:
        return []
    asking = (part for part in parts if len(part.split()) >= MIN_WORDS and _has_ask(part, verbs))
    return list(islice(asking, MAX_CLAUSES))


def _has_ask(part: str, verbs: frozenset[str]) -> bool:
    return not verbs.isdisjoint(part.lower().split()) or find_verb_kind(part) is not None


@cache
def _load_rules() -> tuple[re.Pattern[str], frozenset[str]]:
    """Return what cuts a text, and the verbs that tools do not have."""
    table = data.load("clauses")
    words_of_cuts = "|".join(table["cuts"].split())
    cut = rf"(?<=[.!?;:])\s+(?=\S)|,?\s+(?:{words_of_cuts})\b,?"
    return re.compile(cut, re.IGNORECASE), frozenset(table["verbs"].split())


def _measure_service(
    ranking: Ranking, parts: list[str], embedder: Embedder, index: VectorIndex
) -> list[Floats]:
    """Return how well each tool fits each relevant clause, 0 to 1, shape (tools,) each."""
    reader = find_reader(ranking.source, embedder)
    if reader is None:
        texts = [*map(split_words, parts)]
        vectors = embedder.encode_all(texts)
        known = [*map(embedder.familiarity, texts)]
    else:
        vectors, known = reader.embed(parts)
    familiar = [
        vector
        for vector, familiarity in zip(vectors, known, strict=True)
        if calibration.is_familiar(familiarity, 0.0) and vector.any()
    ]
    served = []
    for cosine in index.products(familiar):
        allowed = cosine if ranking.allowed is None else sink_others(cosine, ranking.allowed)
        best = calibration.Evidence(None, None, float(find_highest(allowed)))
        if calibration.calculate_relevance(best) >= RELEVANT:
            served.append(scale(allowed))
    return served


def _choose_greedily(served: Floats, scores: Floats) -> Iterator[int]:
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
