"""From experience to a prior: which tools worked for similar patterns.

The nearest past patterns vote, weighted by similarity, for the tools they were used with: successes
for, failures against. A tool's vote is its share of all uses near the query, smoothed by a
Dirichlet prior, so evidence that is spread over many tools, as among near-duplicates, moves none of
them much, and few or old uses count less.
"""

import sys
from collections.abc import Sequence
from itertools import count
from math import exp, inf

import numpy as np
from numpy.typing import NDArray

from toolscout.index.catalog import Catalog
from toolscout.index.pattern_vectors import (
    MEANING,
    MEANING_SHARE,
    WORDS,
    Kept,
    Pattern,
    keep,
    unpack,
)
from toolscout.learning.experience import SLOTS, Experience, Key
from toolscout.learning.turns import REPORTS_PER_SOURCE
from toolscout.ranking.ask import Learned
from toolscout.ranking.scorers import NEARLY_SAME

Floats = NDArray[np.float32]

NEIGHBOURS = 8
"""Number of past patterns that vote."""

SHARPNESS = 12.0
"""Decay of a vote's weight with distance: a cosine lower by .1 has less than a third of it."""

REACH = 0.3
"""Maximum distance beyond that of the nearest pattern at which a pattern votes."""

UNLIKE = (0.0, 0.2)
ALIKE = (0.2, 0.6)
"""Cosines of the nearest pattern up to which the vote counts nothing, and from which it counts in
full: for a pattern of which the model knows no word, and for one of which it knows all. Words of a
language that the model does not know reach no higher cosines.
"""

RAISING = 2
"""Nearest different patterns whose tools are raised; those of the others only vote against them. So
near-duplicates, each with a pattern of its own, do not push the best tool out of the first five.
"""

SAME = 1e-3
"""Difference of cosines up to which patterns count as one, reported of several tools."""

SAME_QUERY = 0.01
"""Difference of the cosine from 1 up to which a past pattern is the query itself."""

PROVEN = float(REPORTS_PER_SOURCE)
"""Successes less failures of one pattern beyond which its tool may come first: more than one key
can report.
"""

THIN = 3.0
"""Strength of the Dirichlet prior: one success counts a quarter of many."""

MOST_USES = 8.0
"""Maximum uses of one pattern that vote, so that a tool in constant use does not outvote others."""

EXAMPLE_USES = PROVEN + 1
"""Successes that an example of a tool counts as: its author knows, so it is proven."""

ALWAYS = (-inf, sys.float_info.max)
"""When an example was reported first, and when it worked last."""

STRENGTH = 2.1
CAP = 1.5
"""Score added for the whole vote, and its maximum, in units of the best score without experience.
Chosen on the development sets: more helps the hardest and hurts among near-duplicates.
"""

EARNED, SLACK = 0.3, 0.2
"""Reciprocal ranks that experience must have gained over all reports of a catalog's tools before it
orders them, and what it may have lost where a past query is nearly this one. Both are less than a
second place made a first one. Compared turn by turn with -.2, 0, .6 and 1 for both, and with one
and 1.5 standard errors.
"""

MAX_GAIN_PER_TOOL = 3.0
"""Reciprocal ranks that one tool counts as having gained or lost at most. What a tool has gained
opens the gate for others, never for itself: false reports raise a tool for one another, and would
prove themselves. With .25 and without that, a catalog where few tools do the work never opened the
gate. Compared with 1, no limit, .25 for each pattern of a tool, and losses of at most .25, which
let experience order near-duplicates.
"""

TRUSTED = EARNED + SLACK
"""Reciprocal ranks that examples have gained beforehand: their authors know, unless asking shows
harm.
"""

USUAL_USES = 20.0
"""Reports after which half of the failures count as everybody's, if all have failed."""

LEAST = 0.05
"""Additions below this are noise, which must not turn a query without a match into one."""

MAX_ROWS = 8_192
"""Maximum past patterns of a catalog that are compared; with more tools, fewer of each."""

LEADING = 32
CANDIDATES = 128
"""Dimensions of the meaning by which all past patterns are compared, with all words, and the
number of best ones that are compared by all dimensions. Of the true eight nearest of thousands, 98
to 99.9 % are among them, and four times fewer bytes pass through the processor's cache.
"""

ROUND = 127
"""Words are compared by weights in steps of one `ROUND`th, which take a quarter of the memory."""

COMPARED_AT_ONCE = 100
"""Changed tools that are written to the index while a search waits: some 9 ms."""

HALF_LIFE_S = 30 * 86_400.0
"""Age in seconds at which an observation counts half."""

STALE_S = 3_600.0
"""Age in seconds after which an index is rebuilt, so that old uses fade."""

_VERSIONS = count(1)  # within one of an index, a query always gets the same answer
_NOTHING = np.zeros(3)


class LearnedIndex:
    """The past patterns of one catalog's tools, and their examples; updated with new experience.

    Args:
        keys: name and content digest of each tool, in the order of the catalog.
        catalog: what has examples, which never fade; None where there are none.
    """

    def __init__(
        self,
        keys: Sequence[Key],
        experience: Experience,
        now: float,
        catalog: Catalog | None = None,
    ) -> None:
        self._experience = experience
        self._row_of: dict[Key, int] = {}
        for row, (name, digest) in enumerate(keys):
            self._row_of[name, digest] = row
            self._row_of[name, ""] = row  # observed by name alone
        self._slots = min(SLOTS, max(1, MAX_ROWS // max(len(keys), 1)))
        self._size = len(keys)
        self._made = now
        self._seen, self.version = experience.changes, next(_VERSIONS)
        used = [key for key in self._row_of if experience.of(key) is not None]
        self._place: dict[Key, int] = {}
        self._used = 0
        self._leading = np.zeros((0, LEADING), np.float32)
        self._rest = np.zeros((0, MEANING - LEADING), np.float32)
        self._words = np.zeros((WORDS, 0), np.int8)
        """Weights times `ROUND`, by dimension: a pattern has few words, so few are looked at."""
        self._owners: list[int] = []
        self._gains: list[float] = []
        """By pattern: successes less failures, at most `MOST_USES` together, old ones faded."""
        self._uses: list[float] = []
        self._times: list[tuple[float, float]] = []
        """When each pattern was reported first, and when it worked last."""
        examples = () if catalog is None else catalog.examples[:MAX_ROWS]
        gained = 0.0 if catalog is None or not examples else TRUSTED + catalog.examples_gain
        self._told = np.array((gained, 0, 0))
        """By how much experience raised 1/rank of the tools that worked, reports, and failures."""
        self._told_of: dict[Key, NDArray[np.float64]] = {}
        self._gained_by: dict[int, float] = {}
        """The part of each tool in that, by row."""
        self._reserve(len(examples) + len(used) * self._slots)
        for row, packed in examples:
            place = self._rows_for(row, 1)
            self._write(place, keep(unpack(packed)), EXAMPLE_USES, EXAMPLE_USES, ALWAYS)
        self._examples = self._used
        for key in used:
            self._take(key, now)

    def is_current(self, experience: Experience, now: float) -> bool:
        """Update the index; return False if it has to be rebuilt, or much has changed."""
        if experience is not self._experience or now - self._made > STALE_S:
            return False
        if experience.changes != self._seen:
            changed = experience.changed_since(self._seen)
            if changed is None:
                return False
            ours = [key for key in dict.fromkeys(changed) if key in self._row_of]
            if len(ours) > COMPARED_AT_ONCE:
                return False
            for key in ours:
                self._take(key, now)
            if ours:
                self.version = next(_VERSIONS)
            self._seen = experience.changes
        return True

    def helps(self, row: int, likeness: float) -> bool:
        """Whether reports of the other tools show that experience improves the order of one.

        Where the nearest past query is nearly this one, it is enough that they show no harm.
        """
        of_others = self._told[0] - max(self._gained_by.get(row, 0.0), 0.0)
        return bool(of_others > (EARNED if likeness < NEARLY_SAME else -SLACK))

    def prior(self, pattern: Pattern, *, left_out: bool = False) -> Learned | None:
        """Return the experience for a pattern; None without relevant experience.

        With `left_out` the pattern itself is none of the past ones.
        """
        if not self._used:
            return None
        nearest = self._voters(pattern, left_out=left_out)
        if not nearest or nearest[0][0] <= 0:
            return None
        closest = last = nearest[0][0]
        uses, least, different = 0.0, max(closest - REACH, 0.0), 1
        gains: dict[int, float] = {}
        raised, exemplary = set[int](), set[int]()
        proven: list[int] = []
        # Plain numbers: for so few, every step of NumPy would take longer.
        for cosine, place in nearest:
            if cosine <= least:
                break
            if last - cosine > SAME:
                last, different = cosine, different + 1
            vote = exp(SHARPNESS * (cosine - closest))
            uses += vote * self._uses[place]
            row = self._owners[place]
            gains[row] = gains.get(row, 0.0) + vote * self._gains[place]
            if cosine > 1 - SAME_QUERY and self._gains[place] > PROVEN:
                proven.append(row)
            if different <= RAISING:
                raised.add(row)
                if place < self._examples:
                    exemplary.add(row)
        strength = STRENGTH * _trust(closest, pattern) / (uses + THIN)
        # Where everything fails, a failure says nothing of its tool.
        blamed = 1 - float(self._told[2] / (self._told[1] + USUAL_USES))
        added = np.zeros(self._size, np.float32)
        for row, gain in gains.items():
            more = strength * gain if gain > 0 else strength * gain * blamed
            if abs(more) >= LEAST and (more < 0 or row in raised):
                added[row] = max(-CAP, min(CAP, more))
        unproven = [row for row in gains if added[row] > 0 and not self.helps(row, closest)]
        return Learned(added, closest, proven, unproven, exemplary)

    def _voters(self, pattern: Pattern, *, left_out: bool) -> list[tuple[float, int]]:
        """Return the past patterns that may vote, the nearest first, as cosines and places.

        What worked for this very query, but not since another tool began that has worked for it
        often enough, has been replaced.
        """
        nearest = sorted(self._nearest(pattern), reverse=True)
        same = [place for cosine, place in nearest if cosine > 1 - SAME_QUERY]
        if not same:
            return nearest
        began = [self._times[place][0] for place in same if self._gains[place] >= PROVEN]
        renewed = inf if left_out else max(began, default=-inf)
        silent = {
            place for place in same if self._times[place][1] < renewed and self._gains[place] > 0
        }
        return [(cosine, place) for cosine, place in nearest if place not in silent]

    def _nearest(self, pattern: Pattern) -> list[tuple[float, int]]:
        """Return the nearest past patterns, each as its cosine and its place."""
        used = self._used
        cosines: Floats = self._leading[:used].dot(pattern.meaning[:LEADING])
        if pattern.places:
            weights = np.array(pattern.weights, np.float32) / np.float32(ROUND)
            words = self._words[:, :used].take(pattern.places, axis=0)
            cosines += weights.dot(words.astype(np.float32))
        near, rest = _largest(cosines, CANDIDATES), pattern.meaning[LEADING:]
        cosines = cosines[near] + self._rest.take(near, axis=0).dot(rest)
        best = _largest(cosines, NEIGHBOURS)
        return list(zip(cosines[best].tolist(), near[best].tolist(), strict=True))

    def _take(self, key: Key, now: float) -> None:
        """Write the patterns of a tool to its rows."""
        tool = self._experience.of(key)
        told = _NOTHING if tool is None else np.array(tool.told(MAX_GAIN_PER_TOOL))
        changed, row = told - self._told_of.get(key, _NOTHING), self._row_of[key]
        self._told, self._told_of[key] = self._told + changed, told
        self._gained_by[row] = self._gained_by.get(row, 0.0) + float(changed[0])
        start = self._place.get(key)
        if start is None:
            if tool is None:
                return
            start = self._place[key] = self._rows_for(row, self._slots)
        rows = slice(start, start + self._slots)
        self._gains[rows] = self._uses[rows] = [0.0] * self._slots
        self._leading[rows], self._rest[rows], self._words[:, rows] = 0.0, 0.0, 0
        slots = [] if tool is None else sorted(tool.slots, key=lambda slot: -slot.seen)
        for place, slot in enumerate(slots[: self._slots], start):
            fading = 0.5 ** (max(0.0, now - slot.seen) / HALF_LIFE_S)
            uses = slot.successes + slot.failures
            counted = fading * min(1.0, MOST_USES / max(uses, 1.0))
            gains = (slot.successes - slot.failures) * counted
            self._write(place, slot.point, gains, uses * counted, (slot.since, slot.worked))

    def _rows_for(self, owner: int, count: int) -> int:
        """Take rows for patterns of one tool; returns the first."""
        start = self._used
        if start + count > len(self._leading):
            self._reserve(2 * (start + count))
        self._used += count
        self._owners += [owner] * count
        self._gains += [0.0] * count
        self._uses += [0.0] * count
        self._times += [ALWAYS] * count
        return start

    def _write(
        self, place: int, point: Kept, gains: float, uses: float, times: tuple[float, float]
    ) -> None:
        self._leading[place] = point.meaning[:LEADING]
        self._rest[place] = point.meaning[LEADING:]
        self._words[point.places, place] = np.rint(point.weights * ROUND)
        self._gains[place], self._uses[place], self._times[place] = gains, uses, times

    def _reserve(self, rows: int) -> None:
        """Allocate rows for patterns."""
        more = rows - len(self._leading)
        self._leading = np.pad(self._leading, ((0, more), (0, 0)))
        self._rest = np.pad(self._rest, ((0, more), (0, 0)))
        self._words = np.pad(self._words, ((0, 0), (0, more)))


def _trust(closest: float, pattern: Pattern) -> float:
    """Return how much the vote counts, 0 to 1, by the likeness of the nearest past pattern."""
    familiarity = min(1.0, float(pattern.meaning.dot(pattern.meaning)) / MEANING_SHARE)
    unlike, alike = (low + familiarity * (high - low) for low, high in (UNLIKE, ALIKE))
    return max(0.0, min(1.0, (closest - unlike) / (alike - unlike)))


def _largest(numbers: Floats, count: int) -> NDArray[np.intp]:
    """Return the places of the largest numbers, in no order."""
    if len(numbers) <= count:
        return np.arange(len(numbers))
    return numbers.argpartition(len(numbers) - count)[-count:]
