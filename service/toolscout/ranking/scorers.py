"""The rankers: which evidence each uses, and how it becomes one score."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np

from toolscout.common.spelling import SEPARATORS
from toolscout.index.bm25 import LexicalScores
from toolscout.index.source import Source
from toolscout.ranking import fuse
from toolscout.ranking.ask import Floats, Ranking
from toolscout.ranking.choose import find_best
from toolscout.ranking.native.extension import find_extension
from toolscout.text.query import Query, find_literal_terms
from toolscout.text.tokens import analyse_words, split_words

NO_SIMILARITY = 0.12
"""Cosine below which a tool that shares no word with the query gets no score."""


def score_words(ranking: Ranking) -> Floats:
    """Score by BM25 alone."""
    return _score_nothing(ranking) if ranking.lexical is None else ranking.lexical.bm25


def score_meaning(ranking: Ranking) -> Floats:
    """Score by the cosine alone; zero below `NO_SIMILARITY`."""
    if ranking.cosine is None:
        return _score_nothing(ranking)
    return np.where(ranking.cosine >= NO_SIMILARITY, ranking.cosine, np.float32(0))


def score_both(ranking: Ranking) -> Floats:
    """Score by the weighted sum of both; zero without a shared word or enough similarity."""
    lexical = ranking.lexical
    cosine = ranking.cosine
    if lexical is None or cosine is None:
        return score_words(ranking)
    query = ranking.query
    of_words = _share_words(lexical, query)
    meaning = share_meaning(query)
    plain = 0.0 if query.earlier else fuse.PLAIN_SHARE
    if (extension := find_extension()) is not None:
        shares = meaning, of_words, plain, fuse.MIN_SPAN, NO_SIMILARITY
        made = extension.fuse_scores(lexical.bm25, lexical.plain, cosine, *shares)
        return np.frombuffer(made, np.float32)
    fused = fuse.sum_weighted(lexical.bm25, cosine, meaning, of_words)
    if plain:
        fused += fuse.scale_to_top(lexical.plain, plain * of_words)
    fused *= (lexical.bm25 > 0) | (cosine >= NO_SIMILARITY)
    return fused


def share_meaning(query: Query) -> float:
    """Return the share that meaning has of a fused score, 0 to 1."""
    is_one_word = all(term.via is not None for term in query.terms[1:])
    is_translated = query.spoken is not None
    return fuse.weigh_meaning(query.unspaced, is_one_word=is_one_word, is_translated=is_translated)


def _share_words(lexical: LexicalScores, query: Query) -> float:
    """Return how much of a query tools say in words, 0 to 1."""
    if query.unspaced or query.spoken is not None:
        return 1.0  # bigrams overlap, and of a translation tools have everyday words alone
    of_tools = lexical.covered
    covered = of_tools.item(of_tools.argmax()) if len(of_tools) else 0.0
    share = covered / (lexical.total or 1.0)
    return min(1.0, max(covered / (fuse.WHOLE_WORDS * lexical.rarest), share / fuse.WHOLE_SHARE))


def score_ranks(ranking: Ranking) -> Floats:
    """Score by reciprocal rank fusion of both."""
    lexical = ranking.lexical
    cosine = ranking.cosine
    if lexical is None or cosine is None:
        return score_words(ranking)
    return fuse.fuse_ranks(lexical.bm25, cosine, ranking.ask.top_k)


def score_expression(ranking: Ranking) -> Floats:
    """Score the matches of a regular expression by its literal words."""
    assert ranking.lexical is not None
    scores = _score_nothing(ranking)
    rows = list(ranking.matched)
    # A match without a literal word still counts; words only order the matches.
    scores[rows] = 1.0 + ranking.lexical.bm25[rows]
    return scores


Words = Callable[[Source, Query], LexicalScores]


def _score_fields(source: Source, query: Query) -> LexicalScores:
    """BM25 over names, descriptions and properties, with separate weights."""
    return source.lexical(query)


def _score_one_text(source: Source, query: Query) -> LexicalScores:
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
    "regex": Scorer(words=_score_fields, meaning=False, fuse=score_expression, is_literal=True),
    "keyword": Scorer(words=_score_fields, meaning=False, fuse=score_words),
    "bm25": Scorer(words=_score_fields, meaning=False, fuse=score_words),
    "semantic": Scorer(words=None, meaning=True, fuse=score_meaning),
    "hybrid": Scorer(words=_score_fields, meaning=True, fuse=score_both),
    "rrf": Scorer(words=_score_fields, meaning=True, fuse=score_ranks),
    "okapi": Scorer(words=_score_one_text, meaning=False, fuse=score_words, is_literal=True),
}


WHOLE_NAME = 0.05
"""Added to a fused score of 0 to 1 where the question has all words of a name, two or more,
and of no longer name: for "read a text file", `read_text_file` comes before `read_file`. On the
development sets nDCG@5 + .002 ± .001 and P@1 + .004 ± .003, with other first fives for 3 % of the
questions; .1 gains less, and a part of it for each word that is there loses.
"""

LAST_TURN = 0.5
"""By how much more of its score a tool has in a conversation if it is the best for the last turn by
itself, though no match: "Give it a heart" after messages of Slack means what both readings find. Of
the follow-ups of `evals/hard` .42 have the wanted tool first instead of .29; with 1, unrelated talk
before costs some.
"""

NAMED_DEPTH = 16
"""Number of best tools whose names are looked at."""


def fuse_evidence(ranking: Ranking) -> Floats:
    """Fuse the evidence for each tool into one score, with its name if it is all there."""
    scores = SCORERS[ranking.ranker].fuse(ranking)
    if (of_last := ranking.of_last_turn) is not None:
        scores = scores * (1 + fuse.scale_to_top(of_last, LAST_TURN))
    if ranking.ranker == "hybrid":
        asked = frozenset(find_literal_terms(ranking.query))
        names = ranking.source.names
        complete = {
            row: name
            for row in (find_best(scores, NAMED_DEPTH) if len(asked) > 1 else ())
            if len(name := _analyse_name(names[row])) > 1 and asked >= name
        }
        for row, name in complete.items():
            if not any(name < other for other in complete.values()):
                scores[row] += np.float32(WHOLE_NAME)
    return scores


@lru_cache(maxsize=65_536)
def _analyse_name(name: str) -> frozenset[str]:
    """Return the terms of a tool's own name, without its server's."""
    return frozenset(analyse_words(split_words(SEPARATORS.split(name)[-1])))


def boost_evidence(ranking: Ranking, factors: Floats) -> Floats:
    """Score again, from evidence times factors; zero scores stay zero.

    The evidence is multiplied and not the fused score, which is scaled between the best and the
    worst tool and can differ much between nearly equal tools.
    """
    if ranking.cosine is None or ranking.ranker == "regex":
        return ranking.scores * factors
    lexical = ranking.lexical
    cosine = ranking.cosine
    if lexical is not None:
        lexical = lexical.times(factors)
    cosine = np.where(cosine > 0, cosine * factors, cosine)
    moved = msgspec.structs.replace(ranking, lexical=lexical, cosine=cosine)
    # What falls below the least similarity for it stays, after all others.
    scores: Floats = np.maximum(fuse_evidence(moved), np.float32(1e-6) * ranking.scores)
    return scores * (ranking.scores > 0)


def _score_nothing(ranking: Ranking) -> Floats:
    return np.zeros(len(ranking.source), np.float32)
