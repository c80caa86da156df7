"""Find the tool that a written name means."""

from functools import cached_property

from rapidfuzz.distance import JaroWinkler
from rapidfuzz.process import extract

from toolscout.common.spelling import forms, key
from toolscout.contract.answers import Resolution
from toolscout.contract.bounds import MAX_NAME_CHARS
from toolscout.index.catalog import Catalog
from toolscout.text.relevance import Pause, no_pause

SIMILAR = 0.85
"""Jaro-Winkler similarity of letters and digits from which a name is suggested: it allows one or
two typing errors, or a prefix.
"""

MAX_SUGGESTIONS = 5

COMPARED = 64
"""Letters and digits of a name that are compared: the time is quadratic."""


class Resolver:
    """Resolves names against one catalog; the data for suggestions is prepared once."""

    def __init__(self, catalog: Catalog, pause: Pause = no_pause) -> None:
        """Take a catalog; `pause` is called before every name."""
        self._catalog = catalog
        self._pause = pause

    def resolve(self, written: str) -> Resolution:
        """Find a name exactly, else in any spelling, else without its prefixes.

        A name that fits several tools is ambiguous; an unknown one gets suggestions.
        """
        self._pause()
        if len(written) > MAX_NAME_CHARS:
            return Resolution(written[:MAX_NAME_CHARS])  # no tool has such a long name
        names, name = self._catalog.names, written.strip()
        for spelled in (written, name):
            if spelled in self._catalog.rows:
                return Resolution(written, spelled, "exact")
        for form in (name, *forms(name)[1:]):
            rows = self._catalog.spellings.find(form)
            if len(rows) == 1:
                return Resolution(written, names[rows[0]], "alias")
            if rows:
                return Resolution(written, ambiguous=[names[row] for row in rows])
        return Resolution(written, suggestions=self._similar(name) or None)

    @cached_property
    def _spelled(self) -> list[str]:
        return [key(name)[:COMPARED] for name in self._catalog.names]

    def _similar(self, name: str) -> list[str]:
        letters = key(name)[:COMPARED]
        if not letters:
            return []
        found = extract(
            letters,
            self._spelled,
            scorer=JaroWinkler.normalized_similarity,
            score_cutoff=SIMILAR,
            limit=MAX_SUGGESTIONS,
        )
        ranked = sorted(found, key=lambda hit: (-hit[1], hit[2]))
        return [self._catalog.names[row] for _, _, row in ranked]
