"""Judge the ranked tools: their evidence, their relevance, and whether anything fits."""

from collections.abc import Sequence

from toolscout.contract.answers import Via
from toolscout.contract.fields import Outcome
from toolscout.ranking import calibration
from toolscout.ranking.ask import Ranking
from toolscout.ranking.choose import Pins
from toolscout.text.query import Query, QueryTerm

JUDGED = 3
"""Number of best tools whose relevance decides the outcome."""

MIN_CORRECTION_WEIGHT = 0.5
"""Minimum weight of a correction that is one edit away, or a completion."""

DIGITS = 4
"""Decimals of a score in answers."""


def find_evidence(ranking: Ranking, row: int) -> calibration.Evidence:
    """Return the evidence for one tool, in units that are comparable between queries."""
    coverage = mass = cosine = None
    if ranking.lexical is not None:
        covered = ranking.lexical.covered.item(row)
        coverage = min(1.0, covered / (ranking.lexical.total or 1.0))
        mass = covered / ranking.lexical.rarest
    if ranking.whole is not None:
        cosine = ranking.whole.item(row)
    unspaced = ranking.query.unspaced
    is_foreign = _is_foreign(ranking)
    return calibration.Evidence(coverage, mass, cosine, ranking.familiarity, unspaced, is_foreign)


def _is_foreign(ranking: Ranking) -> bool:
    return ranking.vectors is not None and ranking.vectors.is_foreign


def score(ranking: Ranking, row: int) -> float:
    """Return the calibrated relevance of one tool, 0 to 1; 1 if its name or the regex matched."""
    if any(mention.row == row and mention.sure for mention in ranking.mentions):
        return 1.0
    if ranking.ranker == "regex":
        relevance = 1.0 if ranking.scores[row] > 0 else 0.0
    else:
        relevance = calibration.calculate_relevance(find_evidence(ranking, row))
    relevance = _raise_relevance(ranking, row, relevance)
    if ranking.boosts is not None:
        relevance = min(1.0, relevance * float(ranking.boosts.factors[row]))
    return round(relevance, DIGITS)


def _raise_relevance(ranking: Ranking, row: int, chance: float) -> float:
    """Raise the relevance of a tool that worked for similar queries."""
    if ranking.learned is None:
        return chance
    past = ranking.learned.past.get(row)
    if past is None or row in ranking.held:
        return chance
    raised = ranking.raised.get(row, 0.0)
    return calibration.add_experience(chance, raised, past.cosine, ranking.familiarity)


def judge(ranking: Ranking, ranked: Sequence[int], no_match_below: float) -> Outcome:
    """Return the outcome by the most relevant of the first few, which may be nearly equal."""
    if any(mention.sure for mention in ranking.mentions):
        return "match"
    if not ranked and not ranking.mentions:
        return "no_match"
    best = ranked[:JUDGED]
    is_guess = _is_guess(ranking)
    if is_guess and not (_is_near_name(ranking) or any(_is_meant(ranking, row) for row in best)):
        return "no_match"
    highest = 0.0
    is_covered = False
    for row in best:
        of_tool = find_evidence(ranking, row)
        # Rounded as in answers, so that callers can use a shown score as threshold.
        chance = round(
            _raise_relevance(ranking, row, calibration.calculate_relevance(of_tool)), DIGITS
        )
        highest = max(highest, chance)
        is_covered |= (of_tool.coverage or 0.0) >= calibration.COVERED
        if chance >= max(calibration.match_from(of_tool), no_match_below):
            return "weak" if is_guess and not _is_meant(ranking, row) else "match"
    if highest < calibration.WEAK and (is_covered or _is_named(ranking)):
        highest = calibration.WEAK
    return "no_match" if highest < no_match_below else "weak"


def _is_named(ranking: Ranking) -> bool:
    """Whether a name of several words, or a telling word of one, is in a query."""
    if any(" " in mention.written for mention in ranking.mentions):
        return True
    is_lexical = ranking.lexical is not None
    return is_lexical and ranking.source.has_telling_word(ranking.query, ranking.allowed)


def _is_guess(ranking: Ranking) -> bool:
    """Whether tools have no word of a query but by correction, and it is none of the language."""
    query = ranking.query
    embedder = ranking.embedder
    source = ranking.source
    if ranking.ranker == "keyword" or query.unspaced or _is_foreign(ranking):
        return False  # nothing is corrected, or its words are no mistyped English
    for term in query.terms:  # most have a word that tools have, and nearly always the first
        if (term.via is None or term.via is Via.SYNONYM) and source.has_term(term.term):
            return False
    terms = [term for term in query.terms if term.via is None or term.via is Via.SYNONYM]
    if embedder is None:
        return bool(_guesses(query))
    return not any(embedder.is_word(term.word) for term in terms if term.weight >= 1.0)


def _guesses(query: Query) -> list[QueryTerm]:
    return [term for term in query.terms if term.via in (Via.FUZZY, Via.PREFIX)]


def _is_near_name(ranking: Ranking) -> bool:
    """Whether a guess is one edit from a word of a name.

    Among all words of a thousand tools, one is near to any string of letters.
    """
    near = [term.term for term in _guesses(ranking.query) if term.weight >= MIN_CORRECTION_WEIGHT]
    return any(ranking.source.has_term(term, in_name=True) for term in near)


def _is_meant(ranking: Ranking, row: int) -> bool:
    """Whether meaning or experience speaks for a tool."""
    if _raise_relevance(ranking, row, 0.0) >= calibration.WEAK:
        return True
    cosine = 0.0 if ranking.whole is None else ranking.whole.item(row) * ranking.familiarity
    return cosine >= calibration.SOME_COSINE


def divide_pins(ranking: Ranking) -> Pins:
    """Divide pins into those that match the query, by score, name or chain, and the others.

    In a weak answer, pins that are as good as its best tool match too.
    """
    rows = ranking.pinned
    least = ranking.ask.no_match_below
    if not rows:
        return Pins()
    asked_for = {*ranking.following, *(mention.row for mention in ranking.mentions)}
    if ranking.outcome == "weak" and ranking.ranked:
        best_score = max(score(ranking, row) for row in ranking.ranked[:JUDGED])
        least = min(least, best_score)
    matching = [
        row
        for row in rows
        if row in asked_for or (ranking.scores[row] > 0 and score(ranking, row) >= least)
    ]
    matched = set(matching)
    return Pins(tuple(matching), tuple(row for row in rows if row not in matched))
