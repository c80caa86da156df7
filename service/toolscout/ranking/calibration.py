"""Calibrated scores: the probability, 0 to 1, that a tool is wanted.

A logistic model over unnormalised evidence, fitted by `python -m evals.calibrate`. Fused scores are
unsuitable: they are normalised per query, and the best is 1 even when nothing fits.
"""

from math import exp

import msgspec

from toolscout.contract.fields import NO_MATCH_BELOW


class Evidence(msgspec.Struct, frozen=True, gc=False):
    """The evidence for one tool; None for kinds that the ranker does not use."""

    coverage: float | None
    """Share of the query's weight, by rarity, that the tool has words for (0 to 1)."""
    mass: float | None
    """That weight in units of a word that no tool has: the number of rare words matched."""
    cosine: float | None
    familiarity: float = 0.0
    """Share of the query that the embedding model knows (0 to 1)."""
    unspaced: float = 0.0
    """Share of the query's letters in scripts without spaces between words (0 to 1)."""
    is_foreign: bool = False
    """Whether the query is in another language than the tools may be."""


MASS_LIMIT = 3.0
"""Rare words beyond the third add no certainty."""

COVERED = 0.5
"""If a tool has this share of the query's words, or synonyms, the outcome is at least weak."""

SOME_COSINE = 0.24
"""Cosine, times familiarity, from which meaning speaks for a tool whose words are only guessed."""

UNRELATED_COSINES = (0.4, 0.15)
"""Cosine of two queries below which experience with one proves nothing for the other: if the model
knows all words of the query, and if it knows none. On the development sets 95 % of the hopeless
queries have no past query nearer than .4, and only 5 % of strings of letters one nearer than .2.
"""

SAME_QUERY_COSINES = (0.7, 0.35)
"""Cosine of two queries from which experience with one fully counts for the other, likewise. Half
of the good queries have a past one nearer than .6.
"""

MATCH_FROM = 0.10
"""Relevance from which a tool is a match, if it has a word of the query as rare as one that no tool
has.
"""

MATCH_BY_MEANING_FROM = 0.15
"""The same of a tool without such a word, for which meaning alone speaks: in every long list
something is near to an everyday request (docs/decisions/no-match.md).
"""

WEAK = NO_MATCH_BELOW
"""Below this relevance of the best tool there is no match, unless a request or the setting
`no_match_below` says otherwise.
"""

MIN_FAMILIARITY = 0.6
"""Familiarity of a query from which its cosine counts; below, it is that of a few known pieces."""

MIN_FAMILIARITY_UNSPACED = 0.2
"""The same in scripts without spaces between words, where short words and endings are never known.
With .35, of 1,195 questions in other languages 2.5 % were no match; with .2 1.0 % are, and of 1,681
that no tool answers 17.4 %, as before (17.8 %).
"""


def calculate_relevance(evidence: Evidence) -> float:
    """Return the calibrated score of one tool.

    Words and meaning count together for the share of the query that the model knows; for the
    rest, words alone decide.
    """
    coverage = evidence.coverage
    cosine = evidence.cosine
    if coverage is None:
        return _add_meaning(0.0, cosine or 0.0)
    mass = min(evidence.mass or 0.0, MASS_LIMIT)
    # The fit gave -4.57; raised so that few answerable queries fall below the thresholds.
    by_words = _calculate_chance(-4.17 + 2.40 * coverage + 1.31 * mass)
    if evidence.unspaced:
        # Character bigrams overlap and repeat, so a good match covers a smaller share of them.
        by_bigrams = _calculate_chance(-3.95 + 1.75 * coverage + 1.51 * mass)
        by_words += evidence.unspaced * (by_bigrams - by_words)
    if cosine is None or not is_familiar(evidence.familiarity, evidence.unspaced):
        return by_words
    familiar = evidence.familiarity
    return familiar * _add_meaning(coverage, cosine) + (1.0 - familiar) * by_words


def is_familiar(familiarity: float, unspaced: float) -> bool:
    """Whether the model knows so much of a query that its cosines mean something."""
    return familiarity >= MIN_FAMILIARITY + unspaced * (MIN_FAMILIARITY_UNSPACED - MIN_FAMILIARITY)


def _add_meaning(coverage: float, cosine: float) -> float:
    return _calculate_chance(-5.42 + 0.28 * coverage + (8.54 - 1.35 * coverage) * cosine)


def add_experience(chance: float, learned: float, likeness: float, familiarity: float) -> float:
    """Raise a probability by what experience adds to the cosine of a tool.

    `likeness` is the cosine of its past queries. Every query has a nearest one; only a similar one
    is evidence. A failure does not lower the probability, because it does not show that
    another tool was wanted.
    """
    learned = max(0.0, min(1.0, learned * weigh_proof(likeness, familiarity)))
    return chance + (1.0 - chance) * learned


def weigh_proof(likeness: float, familiarity: float) -> float:
    """Return how much a past query proves for the present one, 0 to 1, by their cosine."""
    familiar = familiarity
    unfamiliar = 1.0 - familiarity
    unlike = UNRELATED_COSINES[0] * familiar + UNRELATED_COSINES[1] * unfamiliar
    alike = SAME_QUERY_COSINES[0] * familiar + SAME_QUERY_COSINES[1] * unfamiliar
    return max(0.0, min(1.0, (likeness - unlike) / (alike - unlike)))


def match_from(evidence: Evidence) -> float:
    """Return the relevance from which a tool makes a match, by how rare its words of the query are.

    Words of another language, or of a script without spaces between them, are no such evidence.
    """
    if evidence.mass is None or evidence.is_foreign:
        return MATCH_FROM
    unsaid = (1.0 - min(evidence.mass, 1.0)) * (1.0 - evidence.unspaced)
    return MATCH_FROM + unsaid * (MATCH_BY_MEANING_FROM - MATCH_FROM)


def _calculate_chance(log_odds: float) -> float:
    return 1.0 / (1.0 + exp(-log_odds))
