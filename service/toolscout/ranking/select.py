"""From a ranking to the names that are shown: the cap, the pins, the three outcomes."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from toolscout.contract import Outcome

NoMatch = Literal["empty", "pins"]

SORTED_WHOLE = 1_000
"""Scores up to which one sort is faster than finding the best few first."""


def best(scores: NDArray[np.float32], count: int) -> list[int]:
    """The `count` best rows with a score above zero, best first, equal scores in row order."""
    if len(scores) > SORTED_WHOLE:
        # Everything from the count-th best score up, so that a tie at the border is seen whole.
        count = min(count, len(scores))
        border = np.partition(scores, -count)[-count]
        rows = np.flatnonzero(scores >= border)
        order = rows[(-scores[rows]).argsort(kind="stable")][:count]
    else:
        order = (-scores).argsort(kind="stable")[:count]
    ranked: list[int] = order.tolist()
    while ranked and scores[ranked[-1]] <= 0:
        ranked.pop()
    return ranked


def choose(
    ranked: Sequence[int],
    rows: Mapping[str, int],
    always_keep: Sequence[str],
    top_k: int,
    outcome: Outcome,
    no_match: NoMatch = "empty",
) -> tuple[list[int], list[int]]:
    """Fill the `top_k` slots: matches that are not pinned first, then the pins.

    Pins never take the last slot from a match, so at most `top_k - 1` of them are kept, in
    `always_keep` order; a pin beyond that is a match like any other. On `no_match` there are
    no matches and, with `no_match = "pins"`, the pins alone.

    Returns:
        The chosen rows in answer order, and those of them that are there as pins.
    """
    pins = [rows[name] for name in dict.fromkeys(always_keep) if name in rows]
    if outcome == "no_match":
        kept = pins[:top_k] if no_match == "pins" else []
        return kept, kept
    kept = pins[: max(top_k - 1, 0)]
    pinned = set(kept)
    matches = [row for row in ranked if row not in pinned][: top_k - len(kept)]
    return matches + kept, kept
