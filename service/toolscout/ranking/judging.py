"""Judging: what speaks for a tool, how relevant that makes it, and whether anything fits at all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolscout.contract import Outcome
from toolscout.ranking import calibration

if TYPE_CHECKING:
    from toolscout.ranking.strategy import Ranking

JUDGED = 3
"""Best tools whose relevance decides the outcome."""


def evidence(ranking: "Ranking", row: int) -> calibration.Evidence:
    """What speaks for one tool, in units that mean the same for every query."""
    coverage = mass = cosine = None
    if ranking.lexical is not None:
        covered = ranking.lexical.covered.item(row)
        coverage = min(1.0, covered / (ranking.lexical.total or 1.0))
        mass = covered / ranking.lexical.rarest
    if ranking.whole is not None:
        cosine = ranking.whole.item(row)
    return calibration.Evidence(coverage, mass, cosine, ranking.familiarity)


def score(ranking: "Ranking", row: int) -> float:
    """The calibrated relevance of one tool, 0 to 1; 1 where its name or the regex matched."""
    if any(mention.row == row and mention.sure for mention in ranking.mentions):
        return 1.0
    if ranking.ranker == "regex":
        found = 1.0 if ranking.scores[row] > 0 else 0.0
    else:
        found = calibration.relevance(evidence(ranking, row))
    found = _experienced(ranking, row, found)
    if ranking.boosts is not None:
        found = min(1.0, found * float(ranking.boosts.factors[row]))
    return round(found, 4)


def _experienced(ranking: "Ranking", row: int, chance: float) -> float:
    """The relevance of a tool, with what experience says of it."""
    if ranking.learned is None:
        return chance
    learned, likeness = float(ranking.learned[row]), ranking.likeness
    return calibration.with_experience(chance, learned, likeness, ranking.familiarity)


def judge(ranking: "Ranking", ranked: Sequence[int]) -> Outcome:
    """The outcome by the most relevant of the first few: the top hit may lead by a hair."""
    if any(mention.sure for mention in ranking.mentions):
        return "match"
    highest = 0.0
    for row in ranked[:JUDGED]:
        chance = calibration.relevance(evidence(ranking, row))
        highest = max(highest, _experienced(ranking, row, chance))
        if highest >= calibration.MATCH:
            return "match"
    coverage, cosine = 0.0, None
    if ranking.lexical is not None and ranking.lexical.total > 0:
        coverage = float(ranking.lexical.covered.max(initial=0.0)) / ranking.lexical.total
    if ranking.cosine is not None:
        # By the best sentence: one of a long dialogue may ask for a tool that the rest is far from.
        cosine = float(ranking.cosine.max(initial=0.0)) * ranking.familiarity
    return calibration.outcome(highest, coverage, cosine)
