"""Judge the ranked tools: their evidence, their relevance, and whether anything fits."""

from collections.abc import Sequence

from toolscout.contract.answers import Via
from toolscout.contract.fields import Outcome
from toolscout.ranking import calibration
from toolscout.ranking.ask import Ranking
from toolscout.ranking.choose import Pins
from toolscout.text.query import literal_terms

JUDGED = 3
"""Number of best tools whose relevance decides the outcome."""

DIGITS = 4
"""Decimals of a score in answers."""


def evidence(ranking: Ranking, row: int) -> calibration.Evidence:
    """Return the evidence for one tool, in units that are comparable between queries."""
    coverage = mass = cosine = None
    if ranking.lexical is not None:
        covered = ranking.lexical.covered.item(row)
        coverage = min(1.0, covered / (ranking.lexical.total or 1.0))
        mass = covered / ranking.lexical.rarest
    if ranking.whole is not None:
        cosine = ranking.whole.item(row)
    unspaced = ranking.query.unspaced
    return calibration.Evidence(coverage, mass, cosine, ranking.familiarity, unspaced)


def score(ranking: Ranking, row: int) -> float:
    """Return the calibrated relevance of one tool, 0 to 1; 1 if its name or the regex matched."""
    if any(mention.row == row and mention.sure for mention in ranking.mentions):
        return 1.0
    if ranking.ranker == "regex":
        found = 1.0 if ranking.scores[row] > 0 else 0.0
    else:
        found = calibration.relevance(evidence(ranking, row))
    found = _experienced(ranking, row, found)
    if ranking.boosts is not None:
        found = min(1.0, found * float(ranking.boosts.factors[row]))
    return round(found, DIGITS)


def _experienced(ranking: Ranking, row: int, chance: float) -> float:
    """Raise the relevance of a tool that worked for similar queries."""
    if ranking.learned is None:
        return chance
    added, likeness = float(ranking.learned.added[row]), ranking.learned.likeness
    return calibration.with_experience(chance, added, likeness, ranking.familiarity)


def judge(ranking: Ranking, ranked: Sequence[int], no_match_below: float) -> Outcome:
    """Return the outcome by the most relevant of the first few, which may be nearly equal."""
    if any(mention.sure for mention in ranking.mentions):
        return "match"
    if not ranked and not ranking.mentions:
        return "no_match"
    highest = 0.0
    for row in ranked[:JUDGED]:
        chance = calibration.relevance(evidence(ranking, row))
        # Rounded as in answers, so that callers can use a shown score as threshold.
        highest = max(highest, round(_experienced(ranking, row, chance), DIGITS))
        if highest >= max(calibration.MATCH, no_match_below):
            return "weak" if _is_guess(ranking, row) else "match"
    if highest < calibration.WEAK and _is_weak(ranking):
        highest = calibration.WEAK
    return calibration.outcome(highest, no_match_below)


def _is_guess(ranking: Ranking, row: int) -> bool:
    """Whether a tool has only corrected words of a query, of which no word is known otherwise."""
    if not any(term.via is Via.FUZZY for term in ranking.query.terms):
        return False
    literal = literal_terms(ranking.query)
    if any(ranking.source.find(term, row) is not None for term in literal):
        return False
    cosine = 0.0 if ranking.whole is None else ranking.whole.item(row) * ranking.familiarity
    return cosine < calibration.SOME_COSINE


def wanted_pins(ranking: Ranking) -> Pins:
    """Divide pins into those that match the query, by score, name or chain, and the others.

    In a weak answer, pins that are as good as its best tool match too.
    """
    rows, least = ranking.pinned, ranking.ask.no_match_below
    if not rows:
        return Pins()
    wanted = {*ranking.following, *(mention.row for mention in ranking.mentions)}
    if ranking.outcome == "weak" and ranking.ranked:
        best_score = max(score(ranking, row) for row in ranking.ranked[:JUDGED])
        least = min(least, best_score)
    matching = [
        row
        for row in rows
        if row in wanted or (ranking.scores[row] > 0 and score(ranking, row) >= least)
    ]
    found = set(matching)
    return Pins(tuple(matching), tuple(row for row in rows if row not in found))


def _is_weak(ranking: Ranking) -> bool:
    """Whether there is evidence for a tool that its relevance does not show."""
    if any(" " in mention.written for mention in ranking.mentions):
        return True  # a name of several words is seldom in a query by accident
    if ranking.lexical is not None and ranking.source.has_telling_word(
        ranking.query, ranking.allowed
    ):
        return True
    coverage, cosine = 0.0, None
    if ranking.lexical is not None and ranking.lexical.total > 0:
        coverage = float(ranking.lexical.covered.max(initial=0.0)) / ranking.lexical.total
    is_familiar = calibration.is_familiar(ranking.familiarity, ranking.query.unspaced)
    if ranking.cosine is not None and is_familiar:
        # By the best turn, because one turn of a long dialogue may ask for a tool.
        cosine = float(ranking.cosine.max(initial=0.0)) * ranking.familiarity
    return calibration.has_evidence(coverage, cosine)
