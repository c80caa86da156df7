"""Why a tool was chosen: its calibrated score and the typed reasons behind it."""

from toolscout.catalog.catalogue import Catalogue
from toolscout.contract import Match, Reason, Via
from toolscout.ranking import calibration
from toolscout.ranking.strategy import Decision, evidence
from toolscout.ranking.tokens import fold


def explain(catalogue: Catalogue, decision: Decision) -> list[Match]:
    """The matches of a decision, in answer order."""
    pinned = set(decision.pinned)
    return [
        Match(
            name=name,
            score=_score(decision, row),
            reasons=_reasons(catalogue, decision, row),
            pinned=row in pinned,
        )
        for name, row in zip(decision.names, decision.rows, strict=True)
    ]


def _score(decision: Decision, row: int) -> float:
    ranking = decision.ranking
    if any(mention.row == row and mention.sure for mention in ranking.mentions):
        return 1.0
    if ranking.ranker == "regex":
        return 1.0 if ranking.scores[row] > 0 else 0.0
    return round(calibration.relevance(evidence(ranking, row)), 4)


def _reasons(catalogue: Catalogue, decision: Decision, row: int) -> list[Reason]:
    ranking = decision.ranking
    reasons: list[Reason] = []
    for mention in ranking.mentions:
        if mention.row == row:
            exact = mention.written == catalogue.names[row]
            via = Via.EXACT if exact else Via.ALIAS
            reasons.append(Reason("name", mention.written, via, 1.0))
    if ranking.ranker == "regex" and ranking.scores[row] > 0:
        reasons.append(Reason("text", decision.pattern, Via.REGEX, 1.0))
    lexical: list[Reason] = []
    for term in ranking.query.terms:
        found = catalogue.postings.find(term.term, row)
        if found is None:
            continue
        worth = term.weight * found.idf / (ranking.lexical.total if ranking.lexical else 1.0)
        via = term.via or (Via.KEYWORD if fold(term.word) == term.term else Via.STEM)
        lexical.extend(Reason(f, term.word, via, round(worth, 4)) for f in found.fields[:1])
    reasons.extend(sorted(lexical, key=lambda reason: -reason.weight))
    if ranking.cosine is not None and ranking.cosine[row] > 0:
        cosine = round(float(ranking.cosine[row]), 4)
        reasons.append(Reason("text", decision.pattern, Via.SEMANTIC, cosine))
    return reasons
