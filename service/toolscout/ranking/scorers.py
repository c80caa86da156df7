"""The rankers: which evidence each uses, and how it becomes one score."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np

from toolscout.common.spelling import SEPARATORS
from toolscout.index.bm25 import LexicalScores
from toolscout.index.source import Source
from toolscout.ranking import calibration, fuse
from toolscout.ranking.ask import Floats, Learned, Ranking
from toolscout.ranking.choose import among_best, best
from toolscout.ranking.judge import evidence
from toolscout.text.query import Query, literal_terms
from toolscout.text.tokens import words, words_to_terms

NEAR_BEST = 0.95
"""Share of the best score from which experience may put a tool before the best one. Of .90, .95 and
.98, .95 was best on the development sets: a lower one costs first places among near-duplicates.
"""

BELOW_BEST = 1e-3
"""Width of the band below the best score, as a share of it."""

NEARLY_SAME = 0.9
"""Cosine of the nearest past query from which it is nearly this one, and is evidence enough."""

SOME_SCORE = 0.5
"""Share of the best score from which experience may put a tool first before a weak answer."""

IGNORED, COUNTED = 0.4, 0.6
"""Shares of the best score up to which votes of less similar queries count nothing before a match,
and from which they count in full: false reports of one tool bring it to few questions. From 0 to .5
gains .001 more, and shows such a tool twice as often (docs/learning.md).
"""

GAINS_DEPTH = 10
"""Number of best tools whose ranks with and without experience are compared."""

NO_SIMILARITY = 0.12
"""Cosine below which a tool that shares no word with the query gets no score."""


def by_words(ranking: Ranking) -> Floats:
    """Score by BM25 alone."""
    return _nothing(ranking) if ranking.lexical is None else ranking.lexical.bm25


def by_meaning(ranking: Ranking) -> Floats:
    """Score by the cosine alone; zero below `NO_SIMILARITY`."""
    if ranking.cosine is None:
        return _nothing(ranking)
    return np.where(ranking.cosine >= NO_SIMILARITY, ranking.cosine, np.float32(0))


def by_both(ranking: Ranking) -> Floats:
    """Score by the weighted sum of both; zero without a shared word or enough similarity."""
    lexical, cosine = ranking.lexical, ranking.cosine
    if lexical is None or cosine is None:
        return by_words(ranking)
    query = ranking.query
    is_one_word = all(term.via is not None for term in query.terms[1:])
    share = fuse.semantic_weight(
        query.unspaced, is_one_word=is_one_word, is_translated=query.spoken is not None
    )
    of_words = _word_share(lexical, query)
    fused = fuse.weighted_sum(lexical.bm25, cosine, share, of_words)
    if not query.earlier:
        fused += fuse.scaled_to_top(lexical.plain, fuse.PLAIN_SHARE * of_words)
    fused *= (lexical.bm25 > 0) | (cosine >= NO_SIMILARITY)
    return fused


def _word_share(lexical: LexicalScores, query: Query) -> float:
    """Return how much of a query tools say in words, 0 to 1."""
    if query.unspaced or query.spoken is not None:
        return 1.0  # bigrams overlap, and of a translation tools have everyday words alone
    covered = float(lexical.covered.max(initial=0.0))
    share = covered / (lexical.total or 1.0)
    return min(1.0, max(covered / (fuse.WHOLE_WORDS * lexical.rarest), share / fuse.WHOLE_SHARE))


def by_rank(ranking: Ranking) -> Floats:
    """Score by reciprocal rank fusion of both."""
    lexical, cosine = ranking.lexical, ranking.cosine
    if lexical is None or cosine is None:
        return by_words(ranking)
    return fuse.reciprocal_rank(lexical.bm25, cosine, ranking.ask.top_k)


def by_expression(ranking: Ranking) -> Floats:
    """Score the matches of a regular expression by its literal words."""
    assert ranking.lexical is not None
    scores = _nothing(ranking)
    rows = list(ranking.matched)
    # A match without a literal word still counts; words only order the matches.
    scores[rows] = 1.0 + ranking.lexical.bm25[rows]
    return scores


Words = Callable[[Source, Query], LexicalScores]


def _fields(source: Source, query: Query) -> LexicalScores:
    """BM25 over names, descriptions and properties, with separate weights."""
    return source.lexical(query)


def _one_text(source: Source, query: Query) -> LexicalScores:
    """BM25 over all fields as one text."""
    return source.okapi(query)


class Scorer(NamedTuple):
    """The evidence that a ranker uses, and how it becomes one score per tool."""

    words: Words | None
    meaning: bool
    fuse: Callable[[Ranking], Floats]
    is_literal: bool = False
    """Whether only the words of the query count, without synonyms and corrections."""


SCORERS = {
    "regex": Scorer(words=_fields, meaning=False, fuse=by_expression, is_literal=True),
    "keyword": Scorer(words=_fields, meaning=False, fuse=by_words),
    "bm25": Scorer(words=_fields, meaning=False, fuse=by_words),
    "semantic": Scorer(words=None, meaning=True, fuse=by_meaning),
    "hybrid": Scorer(words=_fields, meaning=True, fuse=by_both),
    "rrf": Scorer(words=_fields, meaning=True, fuse=by_rank),
    "okapi": Scorer(words=_one_text, meaning=False, fuse=by_words, is_literal=True),
}


WHOLE_NAME = 0.05
"""Added to a fused score of 0 to 1 where the question has all words of a name, two or more,
and of no longer name: for "read a text file", `read_text_file` comes before `read_file`. On the
development sets nDCG@5 + .002 ± .001 and P@1 + .004 ± .003, with other first fives for 3 % of the
questions; .1 gains less, and a part of it for each word that is there loses.
"""

NAMED_DEPTH = 16
"""Number of best tools whose names are looked at."""


def fused(ranking: Ranking) -> Floats:
    """Fuse the evidence for each tool into one score, with its name if it is all there."""
    scores = SCORERS[ranking.ranker].fuse(ranking)
    if ranking.ranker == "hybrid":
        asked = frozenset(literal_terms(ranking.query))
        rows = among_best(scores, NAMED_DEPTH).tolist()
        names = {row: _name_terms(ranking.source.names[row]) for row in rows}
        complete = {row: name for row, name in names.items() if len(name) > 1 and asked >= name}
        for row, name in complete.items():
            if not any(name < other for other in complete.values()):
                scores[row] += np.float32(WHOLE_NAME)
    return scores


@lru_cache(maxsize=65_536)
def _name_terms(name: str) -> frozenset[str]:
    """Return the terms of a tool's own name, without its server's."""
    return frozenset(words_to_terms(words(SEPARATORS.split(name)[-1])))


def with_experience(ranking: Ranking, scores: Floats) -> Ranking:
    """Set the scores, raised by experience of successes, even of tools without other evidence.

    Failures lower places instead (`lower_failed`): they do not show that a tool was wrong.
    """
    learned = ranking.learned
    moved = scores if learned is None else _moved(scores, learned, _is_match(ranking, scores))
    return msgspec.structs.replace(ranking, unlearned=scores, scores=moved)


def learning_gains(ranking: Ranking) -> dict[str, float]:
    """Return by how much experience raises or lowers 1/rank, for the tools among the first ten.

    Empty where the order without experience is no match: there experience is used in any case.
    """
    scores, learned = ranking.unlearned, ranking.learned
    if learned is None or not _is_match(ranking, scores):
        return {}
    without = best(scores, GAINS_DEPTH)
    with_it = best(_moved(scores, learned._replace(unproven=()), True), GAINS_DEPTH)
    if without == with_it:
        return {}
    gains = {row: 1.0 / place for place, row in enumerate(with_it, 1)}
    for place, row in enumerate(without, 1):
        gains[row] = gains.get(row, 0.0) - 1.0 / place
    names = ranking.source.names
    return {names[row]: round(gain, 3) for row, gain in gains.items() if gain}


def _is_match(ranking: Ranking, scores: Floats) -> bool:
    """Return whether the best tool makes a match without experience."""
    of_best = evidence(ranking, int(scores.argmax()))
    return calibration.relevance(of_best) >= calibration.match_from(of_best)


def _moved(scores: Floats, learned: Learned, is_match: bool) -> Floats:
    """Add experience; before a match only of proven tools, and none far below the best passes it.

    The nearest past queries of a catalog of near-duplicates differ by just the word that tells its
    tools apart, and a false report would put any tool first. A tool that worked often for this very
    query may, and before a weak answer what worked for nearly this one.
    """
    raised = {row: more for row, more in learned.added.items() if more > 0}
    if is_match:
        for row in learned.unproven:
            if row not in learned.proven:
                raised.pop(row, None)
    is_same, before = learned.likeness >= NEARLY_SAME, {row: float(scores[row]) for row in raised}
    best_row = int(scores.argmax())
    best_score = float(scores[best_row])
    moved = scores.copy()
    for row, more in raised.items():
        share = 1.0
        if is_match and not is_same and row not in learned.proven and row not in learned.exemplary:
            share = (before[row] / (best_score or 1.0) - IGNORED) / (COUNTED - IGNORED)
        moved[row] += more * max(0.0, min(1.0, share))
    if is_same and not is_match:
        return moved
    free = {*learned.proven} if is_match else {*learned.proven, *learned.exemplary}
    limit, least = float(moved[best_row]), best_score * (NEAR_BEST if is_match else SOME_SCORE)
    for row, score in before.items():
        if (over := float(moved[row]) - limit) >= 0 and score < least and row not in free:
            # They keep their order, in a narrow band below the best.
            moved[row] = limit * (1 - BELOW_BEST / (1 + over))
    return moved


def boosted(ranking: Ranking, factors: Floats) -> Floats:
    """Score again, from evidence times factors; zero scores stay zero.

    The evidence is multiplied and not the fused score, which is scaled between the best and the
    worst tool and can differ much between nearly equal tools.
    """
    if ranking.cosine is None or ranking.ranker == "regex":
        return ranking.scores * factors
    lexical, cosine = ranking.lexical, ranking.cosine
    if lexical is not None:
        lexical = lexical.times(factors)
    cosine = np.where(cosine > 0, cosine * factors, cosine)
    moved = msgspec.structs.replace(ranking, lexical=lexical, cosine=cosine)
    # What falls below the least similarity for it stays, after all others.
    scores: Floats = np.maximum(fused(moved), np.float32(1e-6) * ranking.scores)
    return scores * (ranking.scores > 0)


def _nothing(ranking: Ranking) -> Floats:
    return np.zeros(len(ranking.source), np.float32)
