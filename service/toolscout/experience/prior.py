"""Which past queries of a catalog's tools are near a query.

A past query is one more text of the tool that served it (see `ranking/experience.py`). Of a tool
with several that few have reported, the two nearest count, so that false reports of unlike queries
bring it to few.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from itertools import count
from math import inf

from toolscout.experience.points import Points, Results
from toolscout.experience.reported import DAY_S, SLOTS, Experience, Key
from toolscout.experience.turns import REPORTS_PER_SOURCE
from toolscout.index.catalog import Catalog
from toolscout.index.pattern_vectors import Pattern, keep, read_pattern, unpack
from toolscout.ranking.ask import Learned, Past, Prior
from toolscout.ranking.experience import MIN_RELATED_COSINE, NEARLY_SAME

SAME_QUERY = 0.01
"""Difference of the cosine from 1 up to which a past query is the query itself."""

PROVEN = float(REPORTS_PER_SOURCE)
"""Successes less failures of one query beyond which its tool comes first: more than one key reports
in the same words.
"""

SEVERAL = 3
"""Past queries of a tool from which the two nearest count, unless the nearest is usual. By the
nearest alone, twenty false reports show their tool four times as often; by the nearer half, a tool
with many uses is hardly found by one of them.
"""

USUAL = 6.0
"""Successes less failures from which a query is usual for its tool. Twenty false reports of unlike
queries make three of one, since a tool keeps only a few.
"""

BLAME = 1.0
"""Failures with a query that count half of many."""

MIN_BLAMED_COSINE = 0.5
"""Cosine from which a tool that failed for a past query is lowered for this one."""

MIN_BLAME = 0.05
"""Blame below this is noise."""

MOST_USES = 8.0
"""Maximum uses of one query that count, so that a failure is seen after thousands of successes."""

USUAL_USES = 20.0
"""Reports of a catalog after which half of the failures count as everybody's, if all have failed.
"""

EXAMPLE_SUCCESSES = PROVEN + 1
"""Successes that an example of a tool counts as: its author knows, so it is proven."""

UNSERVED_FAILURES = 20.0
"""Failures that a request counts as which a tool does not serve, as its operator says."""

ALWAYS = (-inf, sys.float_info.max)
"""When an example was reported first, and when it worked last."""

MAX_ROWS = 8_192
"""Maximum past queries of a catalog that are compared; with more tools, fewer of each."""

COMPARED_AT_ONCE = 100
"""Changed tools that are written to the index while a search waits: some 9 ms."""

HALF_LIFE_S = 30 * DAY_S
"""Age in seconds at which an observation counts half; it counts less every day, not every moment,
so that an index says the same whenever it was made."""

STALE_S = 3_600.0
"""Age in seconds after which an index is rebuilt, so that old uses fade."""

_VERSIONS = count(1)  # within one of an index, a query always gets the same answer


class LearnedIndex:
    """The past queries of one catalog's tools, and their examples; updated with new experience.

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
        self._seen = experience.changes
        self.version = next(_VERSIONS)
        used = [key for key in self._row_of if experience.of(key) is not None]
        examples = () if catalog is None else catalog.examples[:MAX_ROWS]
        self._points = Points()
        self._places: dict[Key, list[int]] = {}
        self._queries = Counter[int]()
        """Number of past queries that worked, by row."""
        self._uses: dict[Key, tuple[int, int]] = {}
        """Reports of tools, and failures among them."""
        self._reports = self._failures = 0
        self._unserved: set[int] = set()
        """Places of requests that an operator says are not served."""
        for row, packed, is_served in examples:
            place = self._points.take(row)
            successes = EXAMPLE_SUCCESSES if is_served else -UNSERVED_FAILURES
            self._points.write(place, keep(unpack(packed)), Results(successes, *ALWAYS))
            if is_served:
                self._queries[row] += 1
            else:
                self._unserved.add(place)
        self._examples = self._points.used
        for key in used:
            self._take(key, now)

    def bring_up_to_date(self, experience: Experience, now: float) -> bool:
        """Update the index; return False if it has to be rebuilt, or much has changed."""
        if experience is not self._experience or now - self._made > STALE_S:
            return False
        if experience.changes != self._seen:
            changed = experience.find_changed(self._seen)
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

    def prior(self, pattern: Pattern) -> Learned | None:
        """Return the experience for a query; None where no past query is related to it."""
        nearest = self._find_nearest(pattern) if self._points.used else []
        if not nearest:
            return None
        of_tools: dict[int, list[tuple[float, int]]] = {}
        for cosine, place in nearest:
            of_tools.setdefault(self._points.owners[place], []).append((cosine, place))
        past = dict[int, Past]()
        failed = dict[int, float]()
        proven = list[int]()
        exemplary = list[int]()
        barred = list[int]()
        farthest = max(nearest[-1][0], 0.0)
        for row, queries in of_tools.items():
            cosine, place = queries[0]
            if place in self._unserved and cosine >= NEARLY_SAME:
                barred.append(row)
            blame = self._blame(cosine, -self._points.results[place].successes)
            if blame >= MIN_BLAME:
                failed[row] = blame
            worked = [one for one in queries if self._points.results[one[1]].successes > 0]
            if not worked:
                continue
            cosine, place = worked[0]
            successes = self._points.results[place].successes
            if cosine > 1 - SAME_QUERY and successes > PROVEN:
                proven.append(row)
            is_usual = cosine >= NEARLY_SAME or successes > USUAL
            if not is_usual and self._queries[row] >= SEVERAL:
                cosine = (cosine + (worked[1][0] if len(worked) > 1 else farthest)) / 2
            past[row] = Past(cosine, successes)
            if place < self._examples:
                exemplary.append(row)
        return Learned(nearest[0][0], past, failed, proven, exemplary, barred)

    def _blame(self, cosine: float, failures: float) -> float:
        """Return how much a tool has failed, 0 to 1: where everything fails, it says nothing."""
        if failures <= 0:
            return 0.0
        alike = max(0.0, (cosine - MIN_BLAMED_COSINE) / (1 - MIN_BLAMED_COSINE))
        own = 1 - self._failures / (self._reports + USUAL_USES)
        return alike * own * failures / (failures + BLAME)

    def _find_nearest(self, pattern: Pattern) -> list[tuple[float, int]]:
        """Return the past queries that count, the nearest first, as cosines and places.

        What worked for this very query, but not since another tool began that has worked for it
        often enough, has been replaced.
        """
        nearest = self._points.find_nearest(pattern, MIN_RELATED_COSINE)
        results = self._points.results
        began = [results[place].since for cosine, place in nearest if cosine > 1 - SAME_QUERY]
        if not began:
            return nearest
        renewed = max(began)
        return [
            (cosine, place)
            for cosine, place in nearest
            if cosine <= 1 - SAME_QUERY
            or results[place].worked >= renewed
            or results[place].successes <= 0
        ]

    def _take(self, key: Key, now: float) -> None:
        """Write the past queries of a tool to its places."""
        tool = self._experience.of(key)
        row = self._row_of[key]
        self._count(key, (0, 0) if tool is None else (tool.uses, tool.failures))
        slots = sorted(tool.slots if tool else (), key=lambda slot: -slot.seen)[: self._slots]
        places = self._places.setdefault(key, [])
        self._queries[row] -= sum(self._points.results[place].successes > 0 for place in places)
        self._queries[row] += sum(slot.successes > slot.failures for slot in slots)
        places += [self._points.take(row) for _ in slots[len(places) :]]
        for place in places[len(slots) :]:
            self._points.clear(place)
        for place, slot in zip(places, slots, strict=False):
            fading = 0.5 ** (max(0.0, now // DAY_S - slot.seen // DAY_S) * DAY_S / HALF_LIFE_S)
            uses = slot.successes + slot.failures
            counted = min(1.0, MOST_USES / max(uses, 1.0))
            successes = (slot.successes - slot.failures) * counted
            since = slot.since if successes >= PROVEN else -inf  # whenever it was
            results = Results(successes * fading, since, slot.worked)
            self._points.write(place, slot.point, results)

    def _count(self, key: Key, now: tuple[int, int]) -> None:
        """Replace the counts of a tool's reports and failures."""
        reports, failures = self._uses.get(key, (0, 0))
        self._reports += now[0] - reports
        self._failures += now[1] - failures
        self._uses[key] = now


def prior_of(index: LearnedIndex) -> Prior:
    """Return an index as the pipeline uses it."""
    return Prior(lambda query, vectors: index.prior(read_pattern(query, vectors)), index.version)
