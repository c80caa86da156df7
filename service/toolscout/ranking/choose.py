"""Choose the tools to show from a ranking: the cap, the pins, names first."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.index.names import Mention
from toolscout.ranking.calibration import MATCH_FROM
from toolscout.ranking.native.extension import find_extension

NoMatch = Literal["empty", "pins"]

MAX_PLACES_LOST = 2
"""Maximum number of places by which reported failures lower a tool."""

NEARLY = 0.98
"""Share of a failed tool's score from which another one may pass it."""

MAX_ROWS_FOR_SELECTION = 16
"""Number of rows up to which repeated selection of the best is faster than sorting."""


def find_best(scores: NDArray[np.float32], count: int) -> list[int]:
    """Return the `count` best rows with a score above zero, best first, equals in row order."""
    extension = find_extension()
    if extension is not None and count <= extension.MAX_BEST:
        best: list[int] = extension.find_best(scores, count)
        return best
    return (
        _take_best(scores, count) if count <= MAX_ROWS_FOR_SELECTION else _sort_best(scores, count)
    )


def _take_best(scores: NDArray[np.float32], count: int) -> list[int]:
    left = scores.copy()
    ranked: list[int] = []
    for _ in range(min(count, len(left))):
        row = int(left.argmax())  # the first of equals
        if left[row] <= 0:
            break
        left[row] = 0
        ranked.append(row)
    return ranked


def _sort_best(scores: NDArray[np.float32], count: int) -> list[int]:
    # Without the many zeros, which make partitioning ten times slower.
    rows = np.flatnonzero(scores > 0)
    positive = scores[rows]
    if len(rows) > count:
        # Everything from the count-th best score up, including all of a tie at the border.
        among = positive >= np.partition(positive, -count)[-count]
        rows = rows[among]
        positive = positive[among]
    ranked: list[int] = rows[(-positive).argsort(kind="stable")][:count].tolist()
    return ranked


def sort_named_first(
    ranked: list[int], mentions: list[Mention], names: Sequence[str], slots: int
) -> list[int]:
    """Put sure mentions first: exact spellings before others, equals by score.

    A less certain mention is at least not cut off if there is more than one place.
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
    led = set(leading)
    rest = [row for row in ranked if row not in led]
    unsure = [mention.row for mention in mentions if not mention.sure]
    room = max(slots - len(leading), 0)
    late = [row for row in unsure if row not in rest[:room]]
    if late:
        kept = [row for row in rest if row not in late]
        cut = max(room - len(late), 1)
        rest = kept[:cut] + late + kept[cut:]
    return leading + rest


class Pins(NamedTuple):
    """The rows of `always_keep` that are among the tools, by whether the query wants them."""

    matching: tuple[int, ...] = ()
    """Pins with evidence; they are ranked like any tool."""
    others: tuple[int, ...] = ()
    """Pins without evidence, in `always_keep` order; they come last."""


def sort_by_rank(ranked: Sequence[int], pins: Pins, scores: NDArray[np.float32]) -> list[int]:
    """Place every matching pin by its rank, and remove the pins without evidence."""
    places = set(ranked)
    others = set(pins.others)
    deeper = [row for row in pins.matching if row not in places]
    deeper.sort(key=lambda row: (-scores[row], row))
    return [row for row in ranked if row not in others] + deeper


def choose_pins(ranked: Sequence[int], pins: Pins, top_k: int) -> list[int]:
    """Return the pins that an answer has room for: those that match, then the others in order.

    The best match always keeps its place, pinned or not; pins without evidence never take it.
    """
    matching = set(pins.matching)
    slots = top_k if not ranked or ranked[0] in matching else top_k - 1
    first = [row for row in ranked if row in matching][:slots]
    room = slots - len(first) if first or not ranked else min(slots, top_k - 1)
    return first + list(pins.others[:room])


def choose(ranked: Sequence[int], kept: Sequence[int], room: int) -> tuple[list[int], list[int]]:
    """Choose the `room` best rows beside the pins `kept`.

    Returns:
        The ranked rows of the answer, matching pins among them, and the pins that come last.
    """
    chosen = set(kept)
    chosen.update([row for row in ranked if row not in chosen][:room])
    in_order = [row for row in ranked if row in chosen]
    chosen.difference_update(in_order)
    return in_order, [row for row in kept if row in chosen]


def lower_failed(
    chosen: Sequence[int],
    failures: Mapping[int, float],
    scores: NDArray[np.float32],
    fixed: Collection[int],
) -> list[int]:
    """Lower tools that failed by at most `MAX_PLACES_LOST` places within the rows of an answer.

    Args:
        chosen: rows of the answer, best first; none of them leaves it.
        failures: how much tools have failed, 0 to 1, by row.
        scores: a tool is lowered behind those with nearly its own.
        fixed: rows that keep their place, such as tools named in the query.
    """
    if not any(row in failures for row in chosen):
        return list(chosen)

    def place(number: int) -> float:
        row = chosen[number]
        if row in fixed or row not in failures:
            return number
        behind = chosen[number + 1 : number + 1 + MAX_PLACES_LOST]
        near = sum(bool(scores[other] >= NEARLY * scores[row]) for other in behind)
        # The half puts it behind the tool at its new place.
        lost = min(near, (MAX_PLACES_LOST + 0.5) * failures[row])
        return number + lost + (0.5 if lost == near > 0 else 0.0)

    return [chosen[number] for number in sorted(range(len(chosen)), key=place)]


MIN_CHAIN_CONFIDENCE = 0.3
"""Confidence of a chain from which it is followed."""


class Chain(msgspec.Struct, frozen=True):
    """Tools that were used one after the other for queries like this one."""

    names: tuple[str, ...]
    confidence: float
    """Confidence that this chain is the wanted one, 0 to 1."""
    proof: float
    """How similar its reported intent is to that of the query, 0 to 1."""

    @property
    def is_sure(self) -> bool:
        """Whether the chain is followed."""
        return self.confidence >= MIN_CHAIN_CONFIDENCE


def follow(
    ranked: Sequence[int],
    chain: Sequence[int],
    score: Callable[[int], float],
    kept: Callable[[int], bool],
) -> list[int]:
    """Put the rows of a chain behind the convincing ones and before the rest.

    Rows that are `kept`, such as tools named in the query and pins, keep their place.
    """
    members = set(chain)
    convincing = [row for row in ranked if row in members or kept(row) or score(row) >= MATCH_FROM]
    return list(dict.fromkeys([*convincing, *chain, *ranked]))
