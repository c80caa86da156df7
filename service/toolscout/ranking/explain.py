"""Explain the chosen tools: calibrated scores with typed reasons."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from toolscout.contract.answers import Match, Reason, Via
from toolscout.index.source import Source
from toolscout.ranking.ask import Decision, Ranking
from toolscout.ranking.judge import score
from toolscout.ranking.scorers import NO_SIMILARITY
from toolscout.text.query import STOP_WEIGHT, QueryTerm
from toolscout.text.tokens import fold

LEAST_SHOWN = 0.02
"""Share of a query below which a word is no reason: an article is in half of all descriptions."""

MAX_NAMED = 10
"""Maximum number of tools that a note names."""

MAX_NAME_CHARS = 64
"""Maximum number of letters of a name in a note."""


def explain(decision: Decision) -> list[Match]:
    """Return the matches of a decision, in answer order."""
    pinned = set(decision.pinned)
    return [
        Match(
            name=name,
            score=score(decision.ranking, row),
            reasons=_write_reasons(decision, name, row),
            pinned=row in pinned,
        )
        for name, row in zip(decision.names, decision.rows, strict=True)
    ]


def add_evidence(ranking: Ranking) -> int:
    """Count the tools that words of the query, meaning or experience are evidence for.

    A function word is none, though it decides between tools that nothing else tells apart.
    """
    scored = ranking.scores > 0
    lexical = ranking.lexical
    cosine = ranking.cosine
    if lexical is None or ranking.ranker in ("regex", "keyword"):
        return int(scored.sum())
    by_words = ranking.source.lexical(replace(ranking.query, terms=_find_telling(ranking))).bm25 > 0
    by_meaning = False if cosine is None else cosine >= NO_SIMILARITY
    by_use = np.zeros(len(scored), bool)
    by_use[list(ranking.raised)] = True
    return int((scored & (by_words | by_meaning | by_use)).sum())


def write_notes(ranking: Ranking) -> list[str]:
    """Return the deviations from a request: of its ranking, and tools that are not searched."""
    written = [ranking.note] if ranking.note else []
    if ranking.unknown_pins:
        written.append(f"always_keep: no tool has the name {_name_some(ranking.unknown_pins)}")
    if skipped := ranking.source.skipped:
        written.append(
            f"not searched, because their text cannot be compiled: {_name_some(skipped)}"
        )
    return written


def _find_telling(ranking: Ranking) -> tuple[QueryTerm, ...]:
    """Return the terms of the query that are no function words."""
    return tuple(term for term in ranking.query.terms if term.weight > STOP_WEIGHT)


def _name_some(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = len(names) - MAX_NAMED
    first = ", ".join(repr(name[:MAX_NAME_CHARS]) for name in names[:MAX_NAMED])
    return first + (f" and {more} more" if more > 0 else "")


def _list_reasons_of_use(ranking: Ranking, row: int) -> list[Reason]:
    """Return whether a tool was raised for past requests, or lowered."""
    if ranking.learned is None:
        return []
    if row in ranking.raised:
        field = "examples" if row in ranking.learned.exemplary else "use"
        return [Reason(field, "worked", Via.LEARNED, round(ranking.raised[row], 4))]
    if row in ranking.learned.failed:
        return [Reason("use", "failed", Via.LEARNED, -round(ranking.learned.failed[row], 4))]
    return []


def _list_overlay_rows(source: Source, row: int) -> list[Reason]:
    """Return the rows of the operator's overlay that are for a tool."""
    adjusted = source.adjusted.tools.get(row)
    patterns = () if adjusted is None else adjusted.patterns
    return [Reason("overlay", pattern, Via.OVERLAY, 0.0) for pattern in patterns]


def _write_reasons(decision: Decision, name: str, row: int) -> list[Reason]:
    ranking = decision.ranking
    reasons: list[Reason] = []
    for mention in ranking.mentions:
        if mention.row == row:
            exact = mention.written == name
            via = Via.EXACT if exact else Via.ALIAS
            reasons.append(Reason("name", mention.written, via, 1.0))
    if ranking.ranker == "regex" and ranking.scores[row] > 0:
        reasons.append(Reason("text", decision.pattern, Via.REGEX, 1.0))
    total = (ranking.lexical.total if ranking.lexical is not None else 0.0) or 1.0
    lexical: list[Reason] = []
    for term in _find_telling(ranking) if ranking.lexical is not None else ():
        hit = ranking.source.find(term.term, row)
        if hit is None:
            continue
        worth = (term.credit if term.via else term.weight * hit.idf) / total
        via = term.via or (Via.KEYWORD if fold(term.word) == term.term else Via.STEM)
        if worth < LEAST_SHOWN:
            continue
        lexical.extend(Reason(f, term.word, via, round(min(worth, 1.0), 4)) for f in hit.fields[:1])
    reasons.extend(sorted(lexical, key=lambda reason: -reason.weight))
    if ranking.cosine is not None and ranking.cosine[row] > 0:
        cosine = round(float(ranking.cosine[row]), 4)
        reasons.append(Reason("text", decision.pattern, Via.SEMANTIC, cosine))
    reasons += _list_reasons_of_use(ranking, row)
    reasons += _list_overlay_rows(ranking.source, row)
    if row in ranking.prerequisites:
        other = ranking.prerequisites[row]
        name_of = ranking.source.names[other]
        weight = score(ranking, other)
        reasons.append(Reason("parameters", name_of, Via.PREREQUISITE, weight))
    if row in decision.chained:
        reasons.append(Reason("use", "chain", Via.CHAIN, decision.chained[row]))
    if ranking.boosts is not None:
        reasons.extend(
            Reason(part.field, part.term, Via.BOOST, round(part.change, 4))
            for part in ranking.boosts.of(row)
        )
    return sorted(reasons, key=lambda reason: -reason.weight)
