"""The past patterns of a catalog's tools as matrices, and which of them are nearest to a query.

What they mean for its tools is the matter of `prior.py`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolscout.index.pattern_vectors import MEANING, WORDS, Kept, Pattern

Floats = NDArray[np.float32]

NEIGHBOURS = 8
"""Number of nearest patterns that are returned."""

LEADING = 32
CANDIDATES = 128
"""Dimensions of the meaning by which all patterns are compared, with all words, and the number of
best ones that are compared by all dimensions. Of the true eight nearest of thousands, 98 to 99.9 %
are among them, and four times fewer bytes pass through the processor's cache.
"""

ROUND = 127
"""Words are compared by weights in steps of one `ROUND`th, which take a quarter of the memory."""


class Votes(NamedTuple):
    """What one pattern says of its tool."""

    gains: float
    """Successes less failures."""
    uses: float
    since: float
    """When it was reported first, in seconds since 1970."""
    worked: float
    """When it worked last."""


NONE = Votes(0.0, 0.0, 0.0, 0.0)


class Points:
    """Patterns, each at a place, with the row of its tool and what it says of it."""

    def __init__(self, room: int) -> None:
        self.used = 0
        """Places that are taken."""
        self.owners: list[int] = []
        self.votes: list[Votes] = []
        self._leading = np.zeros((0, LEADING), np.float32)
        self._rest = np.zeros((0, MEANING - LEADING), np.float32)
        self._words = np.zeros((WORDS, 0), np.int8)
        """Weights times `ROUND`, by dimension: a pattern has few words, so few are looked at."""
        self._reserve(room)

    def take(self, owner: int, count: int) -> int:
        """Take places for patterns of one tool, given by its row; returns the first."""
        start = self.used
        if start + count > len(self._leading):
            self._reserve(2 * (start + count))
        self.used += count
        self.owners += [owner] * count
        self.votes += [NONE] * count
        return start

    def write(self, place: int, point: Kept, votes: Votes) -> None:
        """Write a pattern to its place."""
        self._leading[place] = point.meaning[:LEADING]
        self._rest[place] = point.meaning[LEADING:]
        self._words[point.places, place] = np.rint(point.weights * ROUND)
        self.votes[place] = votes

    def clear(self, start: int, count: int) -> None:
        """Empty some places, which stay taken."""
        places = slice(start, start + count)
        self._leading[places], self._rest[places], self._words[:, places] = 0.0, 0.0, 0
        self.votes[places] = [NONE] * count

    def nearest(self, pattern: Pattern) -> list[tuple[float, int]]:
        """Return the nearest patterns, the nearest first, each as its cosine and its place."""
        used = self.used
        cosines: Floats = self._leading[:used].dot(pattern.meaning[:LEADING])
        if pattern.places:
            weights = np.array(pattern.weights, np.float32) / np.float32(ROUND)
            words = self._words[:, :used].take(pattern.places, axis=0)
            cosines += weights.dot(words.astype(np.float32))
        near, rest = _largest(cosines, CANDIDATES), pattern.meaning[LEADING:]
        cosines = cosines[near] + self._rest.take(near, axis=0).dot(rest)
        best = _largest(cosines, NEIGHBOURS)
        return sorted(zip(cosines[best].tolist(), near[best].tolist(), strict=True), reverse=True)

    def _reserve(self, rows: int) -> None:
        more = rows - len(self._leading)
        self._leading = np.pad(self._leading, ((0, more), (0, 0)))
        self._rest = np.pad(self._rest, ((0, more), (0, 0)))
        self._words = np.pad(self._words, ((0, 0), (0, more)))


def _largest(numbers: Floats, count: int) -> NDArray[np.intp]:
    """Return the places of the largest numbers, in no order."""
    if len(numbers) <= count:
        return np.arange(len(numbers))
    return numbers.argpartition(len(numbers) - count)[-count:]
