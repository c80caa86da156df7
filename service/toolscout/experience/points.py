"""The past patterns of a catalog's tools as matrices, and which of them are nearest to a query.

What they mean for its tools is the matter of `prior.py`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolscout.index.pattern_vectors import MEANING, WORDS, Kept, Pattern

Floats = NDArray[np.float32]

NEIGHBOURS = 16
"""Number of nearest patterns that are returned."""

LEADING = 32
CANDIDATES = 128
"""Dimensions of the meaning by which all patterns are compared, with all words, and the number of
best ones that are compared by all dimensions. Of the eight nearest of thousands, 98 to 99.9 %
are among them, and four times fewer bytes pass through the processor's cache.
"""

COMPARED_WHOLE = 4 * CANDIDATES
"""Patterns up to which it is faster to compare all dimensions of all."""

LEAST_ROOM = 64
"""Places that are made at a time at least; beyond, as many as there are."""

ROUND = 127
"""Words are compared by weights in steps of one `ROUND`th, which take a quarter of the memory."""


class Results(NamedTuple):
    """What came of one pattern with its tool."""

    successes: float
    """Successes less failures, faded with time."""
    since: float
    """When it was reported first, in seconds since 1970."""
    worked: float
    """When it worked last."""


NONE = Results(0.0, 0.0, 0.0)


class Points:
    """Patterns, each at a place, with the row of its tool and what it says of it."""

    def __init__(self) -> None:
        self.used = 0
        """Places that are taken."""
        self.owners: list[int] = []
        self.results: list[Results] = []
        self._leading = np.zeros((0, LEADING), np.float32)
        self._rest = np.zeros((0, MEANING - LEADING), np.float32)
        self._words = np.zeros((WORDS, 0), np.int8)
        """Weights times `ROUND`, by dimension: a pattern has few words, so few are looked at."""

    def take(self, owner: int) -> int:
        """Take the next place for a pattern of a tool, given by its row."""
        place = self.used
        if place == len(self._leading):
            more = max(LEAST_ROOM, place)
            self._leading, self._rest = (
                np.pad(held, ((0, more), (0, 0))) for held in (self._leading, self._rest)
            )
            self._words = np.pad(self._words, ((0, 0), (0, more)))
        self.used += 1
        self.owners.append(owner)
        self.results.append(NONE)
        return place

    def write(self, place: int, point: Kept, results: Results) -> None:
        """Write a pattern to its place, instead of what was there."""
        self.clear(place)
        self._leading[place] = point.meaning[:LEADING]
        self._rest[place] = point.meaning[LEADING:]
        self._words[point.places, place] = np.rint(point.weights * ROUND)
        self.results[place] = results

    def clear(self, place: int) -> None:
        """Empty a place, which stays taken."""
        self._leading[place] = 0.0
        self._rest[place] = 0.0
        self._words[:, place] = 0
        self.results[place] = NONE

    def find_nearest(self, pattern: Pattern, least: float = -1.0) -> list[tuple[float, int]]:
        """Return the nearest patterns, the nearest first, each as its cosine and its place.

        None of them if not even the nearest has a cosine of at least `least`: most have not.
        """
        used = self.used
        cosines: Floats = self._leading[:used].dot(pattern.meaning[:LEADING])
        if pattern.places:
            weights = np.array(pattern.weights, np.float32) / np.float32(ROUND)
            words = self._words.take(pattern.places, axis=0)[:, :used]
            cosines += weights.dot(words.astype(np.float32))
        rest = pattern.meaning[LEADING:]
        places = None
        if used <= COMPARED_WHOLE:
            cosines += self._rest[:used].dot(rest)
        else:
            places = _find_largest(cosines, CANDIDATES)
            cosines = cosines[places] + self._rest.take(places, axis=0).dot(rest)
        if cosines[cosines.argmax()] < least:
            return []
        if places is None:
            places = np.arange(used)
        near = cosines >= cosines[_find_largest(cosines, NEIGHBOURS)].min()
        pairs = zip(cosines[near].tolist(), places[near].tolist(), strict=True)
        # Places depend on the order of the reports, which may not be told from an answer.
        return sorted(pairs, key=lambda pair: (-pair[0], self.owners[pair[1]]))[:NEIGHBOURS]


def _find_largest(numbers: Floats, count: int) -> NDArray[np.intp]:
    """Return the places of the largest numbers, in no order."""
    if len(numbers) <= count:
        return np.arange(len(numbers))
    return numbers.argpartition(len(numbers) - count)[-count:]
