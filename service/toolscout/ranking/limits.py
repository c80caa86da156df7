"""Limits of an answer beside `top_k`: a least score, and a budget of prompt tokens."""

from collections.abc import Callable, Iterable, Sequence

DEPTH = 100
"""Tools looked at beyond `top_k` for one that still fits the budget: what ranks lower fits by
accident."""


def within_limits(  # noqa: PLR0913  # limits of different kinds, by name
    ranked: Sequence[int],
    pinned: Iterable[int],
    slots: int,
    *,
    score: Callable[[int], float],
    min_score: float,
    cost: Callable[[int], int],
    budget: int | None,
) -> list[int]:
    """Fill the slots in rank order; what does not fit is skipped, and the next is tried.

    `slots` excludes pins. Pins cost but are never refused, and those that are ranked
    keep their place. A tool below `min_score` keeps its slot empty and costs
    nothing: the score is looked at last, and no worse tool moves up for it.
    """
    kept = set(pinned)
    left = None if budget is None else budget - sum(map(cost, kept))
    chosen: list[int] = []
    for row in ranked:
        if row in kept:
            chosen.append(row)
            continue
        if slots <= 0:
            continue
        if score(row) < min_score:
            slots -= 1
            continue
        if left is not None:
            price = cost(row)
            if price > left:
                continue
            left -= price
        slots -= 1
        chosen.append(row)
    return chosen
