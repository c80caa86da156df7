"""How past requests move the ranking: each is one more text of the tool that served it.

Where a past request of a tool is nearer to the query than the tool's own text, it counts in place
of that. So experience takes nothing from a tool that nobody has reported, unless the past requests
of another tool are nearer to the query than all that it says of itself.
"""

from collections.abc import Mapping

import msgspec

from toolscout.ranking import calibration, fuse
from toolscout.ranking.ask import Floats, Learned, Ranking
from toolscout.ranking.judge import find_evidence
from toolscout.ranking.scorers import share_meaning

NEARLY_SAME = 0.85
"""Cosine of two queries from which they are nearly the same."""

MIN_RELATED_COSINE = 0.3
"""Cosine of two queries below which the one says nothing of the other. With .2
tools that nobody reports lose .001 nDCG@5 more, and chains follow unlike intents."""

MIN_FULL_SHARE = 0.3
"""Share of the best score from which past requests that are only similar count in full before a
match, and in proportion below: false reports of a tool without other evidence bring it nowhere.
"""

NEAR_BEST = 0.95
"""Share of the best score from which experience may put a tool before the best one. Of .90, .95 and
.98, .95 was best on the development sets: a lower one costs first places among near-duplicates.
"""

BELOW_BEST = 1e-3
"""Width of the band below the best score, as a share of it."""

SOME_SCORE = 0.5
"""Share of the best score from which experience may put a tool first before a weak answer."""


def add_experience(ranking: Ranking, scores: Floats) -> Ranking:
    """Set the scores, raised by past requests, even of tools without other evidence.

    Failures lower places instead (`lower_failed`): they do not show that a tool was wrong.
    """
    learned = ranking.learned
    if learned is None:
        return msgspec.structs.replace(ranking, unlearned=scores, scores=scores)
    is_match = _is_match(ranking, scores)
    raised = _raise_cosines(ranking, learned, scores, is_match=is_match)
    added = _weigh_raised(ranking, learned, raised)
    moved, held = _add_raised(scores, learned, added, is_match=is_match)
    return msgspec.structs.replace(
        ranking, unlearned=scores, scores=moved, raised=raised, held=held
    )


def _is_match(ranking: Ranking, scores: Floats) -> bool:
    """Return whether the best tool makes a match without experience."""
    of_best = find_evidence(ranking, int(scores.argmax()))
    return calibration.calculate_relevance(of_best) >= calibration.match_from(of_best)


def _raise_cosines(
    ranking: Ranking, learned: Learned, scores: Floats, *, is_match: bool
) -> dict[int, float]:
    """Return by how much past requests raise the cosines of tools, by row; only what is raised."""
    cosine = ranking.cosine
    raised = dict[int, float]()
    counted_in_full = MIN_FULL_SHARE * float(fuse.find_highest(scores)) or 1.0
    for row, past in learned.past.items():
        if past.cosine < MIN_RELATED_COSINE:
            continue
        own = 0.0 if cosine is None else max(0.0, cosine.item(row) * ranking.familiarity)
        more = past.weight * (past.cosine - own)
        if is_match and past.cosine < NEARLY_SAME:
            more *= min(1.0, scores.item(row) / counted_in_full)
        if more > 0:
            raised[row] = more
    return raised


def _weigh_raised(
    ranking: Ranking, learned: Learned, raised: Mapping[int, float]
) -> dict[int, float]:
    """Return what raised cosines add to fused scores, by row.

    What is nearly this query speaks for a tool as words and meaning do together.
    """
    span = fuse.MIN_SPAN if ranking.cosine is None else fuse.scale_of(ranking.cosine)[1]
    share = share_meaning(ranking.query)
    return {
        row: more / span * (1.0 if learned.past[row].cosine >= NEARLY_SAME else share)
        for row, more in raised.items()
    }


def _add_raised(
    scores: Floats, learned: Learned, added: Mapping[int, float], *, is_match: bool
) -> tuple[Floats, list[int]]:
    """Return the raised scores, and the rows of which experience is no proof.

    No tool far below a match passes it, as a false report would put any tool first, but those that
    are proven, which come first. Before a weak answer, what worked for nearly this query may come
    first as well.
    """
    best_row = int(scores.argmax())
    best_score = scores.item(best_row)
    moved = scores.copy()
    held = list[int]()
    for row, more in added.items():
        moved[row] += more
    limit = moved.item(best_row)
    least = best_score * (NEAR_BEST if is_match else SOME_SCORE)
    for row in added:
        if scores.item(row) >= least or row in learned.proven:
            continue
        if is_match:
            held.append(row)
        elif row in learned.exemplary or learned.past[row].cosine >= NEARLY_SAME:
            continue
        if (over := moved.item(row) - limit) >= 0:
            # They keep their order, in a narrow band below the best.
            moved[row] = limit * (1 - BELOW_BEST / (1 + over))
    if learned.proven:
        highest = float(fuse.find_highest(moved))
        for row in learned.proven:
            moved[row] = max(moved.item(row), highest + added.get(row, 0.0))
    return moved, held
