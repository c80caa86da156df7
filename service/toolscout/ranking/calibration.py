"""What a score means: the chance, 0 to 1, that a tool is one the query wants.

A logistic model over unnormalised evidence. Fused scores will not do: they are normalised per
query and call the best hit 1 even when nothing fits.
"""

from math import exp

import msgspec

from toolscout.contract import Outcome


class Calibration(msgspec.Struct, frozen=True):
    """Coefficients of log-odds = bias + coverage·x + mass·y + cosine·z."""

    bias: float
    coverage: float = 0.0
    """Per share of the query's weight that the tool has words for (0 to 1)."""
    mass: float = 0.0
    """Per rare word matched (see `Evidence.mass`)."""
    cosine: float = 0.0
    """Per unit of similarity; belongs to one embedding model."""


class Evidence(msgspec.Struct, frozen=True):
    """What speaks for one tool; None where the ranker has no opinion of that kind."""

    coverage: float | None
    mass: float | None
    """Matched weight in units of a word that only one tool could have, at most 3."""
    cosine: float | None


HYBRID = Calibration(bias=-6.0, coverage=3.0, mass=0.9, cosine=9.0)
LEXICAL = Calibration(bias=-2.6, coverage=4.0, mass=1.0)
SEMANTIC = Calibration(bias=-5.0, cosine=11.0)

MASS_LIMIT = 3.0
"""Rare words beyond the third add no more certainty."""

MATCH = 0.30
"""Relevance of the best tool from which the answer is a match."""

WEAK = 0.10
"""Below this relevance of the best tool there is no match at all."""


def relevance(evidence: Evidence) -> float:
    """The calibrated score of one tool."""
    if evidence.cosine is None:
        used = LEXICAL
    elif evidence.coverage is None:
        used = SEMANTIC
    else:
        used = HYBRID
    odds = (
        used.bias
        + used.coverage * (evidence.coverage or 0.0)
        + used.mass * min(evidence.mass or 0.0, MASS_LIMIT)
        + used.cosine * (evidence.cosine or 0.0)
    )
    return 1.0 / (1.0 + exp(-odds))


def outcome(best: float) -> Outcome:
    """Match, weak or no_match, by the relevance of the best tool."""
    if best >= MATCH:
        return "match"
    return "weak" if best >= WEAK else "no_match"
