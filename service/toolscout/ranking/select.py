"""From a ranking to the names that are shown: the cap, the pins, the three outcomes."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from toolscout.contract import Outcome
from toolscout.ranking.names import Mention

NoMatch = Literal["empty", "pins"]

FEW = 16
"""Rows up to which taking the best of what is left again and again is faster than sorting."""


def best(scores: NDArray[np.float32], count: int) -> list[int]:
    """The `count` best rows with a score above zero, best first, equal scores in row order."""
    return _taken(scores, count) if count <= FEW else _sorted(scores, count)


def _taken(scores: NDArray[np.float32], count: int) -> list[int]:
    left = scores.copy()
    ranked: list[int] = []
    for _ in range(min(count, len(left))):
        row = int(left.argmax())  # of equals the first
        if left[row] <= 0:
            break
        left[row] = 0
        ranked.append(row)
    return ranked


def _sorted(scores: NDArray[np.float32], count: int) -> list[int]:
    # Without the many zeros, among which the count-th best is found ten times slower.
    rows = np.flatnonzero(scores > 0)
    found = scores[rows]
    if len(rows) > count:
        # Everything from the count-th best score up: a tie at the border is seen whole.
        among = found >= np.partition(found, -count)[-count]
        rows, found = rows[among], found[among]
    ranked: list[int] = rows[(-found).argsort(kind="stable")][:count].tolist()
    return ranked


def names_first(
    ranked: list[int], mentions: list[Mention], names: Sequence[str], slots: int
) -> list[int]:
    """Sure mentions lead, the exact spelling before others and the best of equals first.

    A mention that is less than sure is at least not cut off while there is more than one slot.
    """
    if not mentions:
        return ranked
    place = {row: i for i, row in enumerate(ranked)}
    sure = sorted(
        (mention for mention in mentions if mention.sure),
        key=lambda mention: (
            not mention.literal,
            -mention.length,
            names[mention.row] != mention.written,
            place.get(mention.row, len(ranked)),
            mention.row,
        ),
    )
    leading = [mention.row for mention in sure]
    rest = [row for row in ranked if row not in set(leading)]
    unsure = [mention.row for mention in mentions if not mention.sure]
    room = max(slots - len(leading), 0)
    late = [row for row in unsure if row not in rest[:room]]
    if late:
        kept = [row for row in rest if row not in late]
        cut = max(room - len(late), 1)
        rest = kept[:cut] + late + kept[cut:]
    return leading + rest


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
