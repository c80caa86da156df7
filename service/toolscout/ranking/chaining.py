"""Bringing the next tools of a known chain into an answer.

Only slots that nothing convincing holds are given away: free ones, and those of tools that would
not make a match by themselves. Names and pins stay.
"""

from collections.abc import Sequence

from toolscout.catalog.catalogue import Catalogue
from toolscout.ranking.calibration import MATCH
from toolscout.ranking.judging import score
from toolscout.ranking.strategy import Ask, Decision

SURE = 0.3
"""Confidence of a chain from which it is followed."""


def with_chain(
    decision: Decision, catalogue: Catalogue, ask: Ask, chain: Sequence[str], confidence: float
) -> None:
    """Put the tools of a chain that are not selected yet behind the convincing ones."""
    if decision.outcome == "no_match" or confidence < SURE:
        return
    allowed = catalogue.facets.allowed(ask.filters, catalogue.rows)
    rows = [catalogue.rows[name] for name in chain if name in catalogue.rows]
    pinned = set(decision.pinned)
    named = {mention.row for mention in decision.ranking.mentions}
    convincing: list[int] = []
    weak: list[int] = []
    for row in decision.rows:
        if row in pinned:
            continue
        kept = row in named or row in rows or score(decision.ranking, row) >= MATCH
        (convincing if kept else weak).append(row)
    following = [
        row
        for row in rows
        if row not in pinned and row not in convincing and (allowed is None or allowed[row])
    ]
    room = ask.top_k - len(decision.pinned)
    matches = list(dict.fromkeys([*convincing, *following, *weak]))[:room]
    decision.rows = matches + decision.pinned
    decision.names = [catalogue.names[row] for row in decision.rows]
    decision.chained = {row: confidence for row in following if row in matches}
