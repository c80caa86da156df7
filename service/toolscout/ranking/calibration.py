"""What a score means: the chance, 0 to 1, that a tool is one the query wants.

A logistic model over unnormalised evidence, fitted by `python -m evals.calibrate`. Fused scores
will not do: they are normalised per query and call the best hit 1 even when nothing fits.
"""

from math import exp

import msgspec

from toolscout.contract import Outcome


class Evidence(msgspec.Struct, frozen=True):
    """What speaks for one tool; None where the ranker has no opinion of that kind."""

    coverage: float | None
    """Share of the query's weight, by rarity, that the tool has words for (0 to 1)."""
    mass: float | None
    """That weight in units of a word that no tool has: how many telling words matched."""
    cosine: float | None
    familiarity: float = 0.0
    """How much of the query the embedding model knows (0 to 1)."""


MASS_LIMIT = 3.0
"""Telling words beyond the third add no more certainty."""

COVERED = 0.5
"""When a tool has words, or stand-ins, for this share of the query, something fits at least
weakly."""

SOME_COVERAGE, SOME_COSINE = 0.10, 0.24
"""Likewise when there are a telling word and some likeness at once: rare words without a hit lower
the confidence, they do not rule out."""

UNLIKE, ALIKE = (0.4, 0.15), (0.7, 0.35)
"""Likeness of two queries below which what worked for one proves nothing for the other, and from
which it does: where the model knows all words of the query, and where it knows none. On the
development sets 95 % of the hopeless queries have no past query nearer than .4, half of the good
ones have one nearer than .6; words alone are nearer than .2 to only 5 % of strings of letters."""

MATCH = 0.10
"""Relevance of the best tool from which the answer is a match: more than 85 % of the hopeless
queries of the development sets stay below."""

WEAK = 0.04
"""Below this relevance of the best tool there is no match at all; low, because a good query that
is taken for hopeless loses every tool, and a hopeless one taken for weak only gets poor ones."""


def relevance(evidence: Evidence) -> float:
    """The calibrated score of one tool.

    Words and meaning are weighed together as far as the model knows the words of the query;
    for the rest, words alone decide.
    """
    coverage, cosine = evidence.coverage, evidence.cosine
    if coverage is None:
        return _with_meaning(0.0, cosine or 0.0)
    # The fit said -4.57; raised so that the thresholds cost words alone as few good queries.
    by_words = _chance(-4.17 + 2.40 * coverage + 1.31 * min(evidence.mass or 0.0, MASS_LIMIT))
    if cosine is None:
        return by_words
    known = evidence.familiarity
    return known * _with_meaning(coverage, cosine) + (1.0 - known) * by_words


def _with_meaning(coverage: float, cosine: float) -> float:
    return _chance(-5.42 + 0.28 * coverage + (8.54 - 1.35 * coverage) * cosine)


def with_experience(chance: float, learned: float, likeness: float, familiarity: float) -> float:
    """A chance, moved by what experience adds to a score: towards certain, or towards nothing.

    `likeness` is the cosine of the nearest query that it comes from. Some tool worked for the
    nearest of any query; only one that is alike proves something.
    """
    known, unknown = familiarity, 1.0 - familiarity
    unlike = UNLIKE[0] * known + UNLIKE[1] * unknown
    alike = ALIKE[0] * known + ALIKE[1] * unknown
    learned *= max(0.0, min(1.0, (likeness - unlike) / (alike - unlike)))
    learned = max(-1.0, min(1.0, learned))
    return chance + (1.0 - chance) * learned if learned > 0 else chance * (1.0 + learned)


def outcome(best: float, coverage: float = 0.0, cosine: float | None = None) -> Outcome:
    """Match, weak or no_match, by the relevance of the best tool.

    `coverage` and `cosine` are the highest of any tool, not necessarily of the same one; without
    an opinion on meaning, words alone say whether there is something.
    """
    if best >= MATCH:
        return "match"
    some = coverage >= SOME_COVERAGE and (cosine is None or cosine >= SOME_COSINE)
    return "weak" if best >= WEAK or some or coverage >= COVERED else "no_match"


def _chance(log_odds: float) -> float:
    return 1.0 / (1.0 + exp(-log_odds))
