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
from toolscout.index.pattern_vectors import MEANING_SHARE, Pattern, keep, read_pattern, unpack
from toolscout.learning.experience import DAY_S, SLOTS, Experience, Key
from toolscout.learning.gate import Gate
from toolscout.learning.points import Points, Votes
from toolscout.learning.turns import REPORTS_PER_SOURCE
from toolscout.ranking.ask import Learned, Prior

Floats = NDArray[np.float32]

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

LEAST = 0.05
"""Additions below this are noise, which must not turn a query without a match into one."""

MAX_ROWS = 8_192
"""Maximum past patterns of a catalog that are compared; with more tools, fewer of each."""

COMPARED_AT_ONCE = 100
"""Changed tools that are written to the index while a search waits: some 9 ms."""

HALF_LIFE_S = 30 * DAY_S
"""Age in seconds at which an observation counts half; it counts less every day, not every moment,
so that an index says the same whenever it was made."""

STALE_S = 3_600.0
"""Age in seconds after which an index is rebuilt, so that old uses fade."""

_VERSIONS = count(1)  # within one of an index, a query always gets the same answer


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
        self._made = now
        self._seen, self.version = experience.changes, next(_VERSIONS)
        used = [key for key in self._row_of if experience.of(key) is not None]
        examples = () if catalog is None else catalog.examples[:MAX_ROWS]
        self._points = Points()
        self._places: dict[Key, list[int]] = {}
        self.gate = Gate(catalog.examples_gain if catalog is not None and examples else None)
        for row, packed in examples:
            votes = Votes(EXAMPLE_USES, EXAMPLE_USES, *ALWAYS)
            self._points.write(self._points.take(row), keep(unpack(packed)), votes)
        self._examples = self._points.used
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

    def prior(self, pattern: Pattern, *, left_out: bool = False) -> Learned | None:
        """Return the experience for a pattern; None without relevant experience.

        With `left_out` the pattern itself is none of the past ones.
        """
        if not self._points.used:
            return None
        nearest = self._voters(pattern, left_out=left_out)
        if not nearest or nearest[0][0] <= 0:
            return None
        closest = nearest[0][0]
        uses, least, gains = 0.0, max(closest - REACH, 0.0), dict[int, float]()
        exemplary, proven = set[int](), list[int]()
        # Plain numbers: for so few, every step of NumPy would take longer.
        for cosine, place in nearest:
            if cosine <= least:
                break
            vote, votes = exp(SHARPNESS * (cosine - closest)), self._points.votes[place]
            uses += vote * votes.uses
            row = self._points.owners[place]
            gains[row] = gains.get(row, 0.0) + vote * votes.gains
            if cosine > 1 - SAME_QUERY and votes.gains > PROVEN:
                proven.append(row)
            if place < self._examples:
                exemplary.add(row)
        strength = STRENGTH * _trust(closest, pattern) / (uses + THIN)
        added: dict[int, float] = {}
        for row, gain in gains.items():
            more = strength * gain if gain > 0 else strength * gain * self.gate.blamed
            if abs(more) >= LEAST:
                added[row] = max(-CAP, min(CAP, more))
        if not added:
            return None
        unproven = [row for row in added if not self.gate.is_open(row, closest)]
        return Learned(added, closest, proven, unproven, exemplary)

    def _voters(self, pattern: Pattern, *, left_out: bool) -> list[tuple[float, int]]:
        """Return the past patterns that may vote, the nearest first, as cosines and places.

        What worked for this very query, but not since another tool began that has worked for it
        often enough, has been replaced.
        """
        nearest, votes = self._points.nearest(pattern), self._points.votes
        began = [votes[place].since for cosine, place in nearest if cosine > 1 - SAME_QUERY]
        if not began:
            return nearest
        renewed = inf if left_out else max(began)
        return [
            (cosine, place)
            for cosine, place in nearest
            if cosine <= 1 - SAME_QUERY or votes[place].worked >= renewed or votes[place].gains <= 0
        ]

    def _take(self, key: Key, now: float) -> None:
        """Write the patterns of a tool to its places."""
        tool, row = self._experience.of(key), self._row_of[key]
        self.gate.count(key, row, tool)
        slots = sorted(tool.slots if tool else (), key=lambda slot: -slot.seen)[: self._slots]
        places = self._places.setdefault(key, [])
        places += [self._points.take(row) for _ in slots[len(places) :]]
        for place in places[len(slots) :]:
            self._points.clear(place)
        for place, slot in zip(places, slots, strict=False):
            fading = 0.5 ** (max(0.0, now // DAY_S - slot.seen // DAY_S) * DAY_S / HALF_LIFE_S)
            uses = slot.successes + slot.failures
            counted = min(1.0, MOST_USES / max(uses, 1.0))
            gains = (slot.successes - slot.failures) * counted
            since = slot.since if gains >= PROVEN else -inf  # whenever it was
            votes = Votes(gains * fading, uses * counted * fading, since, slot.worked)
            self._points.write(place, slot.point, votes)


def prior_of(index: LearnedIndex) -> Prior:
    """Return an index as the pipeline uses it."""
    return Prior(lambda query, vectors: index.prior(read_pattern(query, vectors)), index.version)


def _trust(closest: float, pattern: Pattern) -> float:
    """Return how much the vote counts, 0 to 1, by the likeness of the nearest past pattern."""
    familiarity = min(1.0, float(pattern.meaning.dot(pattern.meaning)) / MEANING_SHARE)
    unlike, alike = (low + familiarity * (high - low) for low, high in (UNLIKE, ALIKE))
    return max(0.0, min(1.0, (closest - unlike) / (alike - unlike)))
