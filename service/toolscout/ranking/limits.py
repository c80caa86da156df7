"""Limits of an answer besides `top_k`: a minimum score, and a budget of prompt tokens."""

from collections.abc import Callable, Iterable, Sequence

DEPTH = 100
"""Tools tried beyond `top_k` for one that still fits the budget."""


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
    """Fill the slots in rank order; skip what does not fit, and try the next.

    `slots` excludes pins. Pins cost tokens but are never refused, and ranked ones keep their place.
    A tool below `min_score` leaves its slot empty and costs nothing: no worse tool moves up.
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
