"""Find the tool that a written name means."""

from functools import cached_property

from toolscout.common.spelling import list_forms
from toolscout.contract.answers import Resolution
from toolscout.contract.bounds import MAX_NAME_CHARS
from toolscout.index.catalog import Catalog
from toolscout.text.relevance import Pause, go_on

SIMILAR = 0.85
"""Jaro-Winkler similarity of letters and digits from which a name is suggested: it allows one or
two typing errors, or a beginning.
"""

MAX_SUGGESTIONS = 5

COMPARED = 64
"""Letters and digits of a name that are compared: the time is quadratic."""


class Resolver:
    """Resolves names against one catalog; the data for suggestions is prepared once."""

    def __init__(self, catalog: Catalog, pause: Pause = go_on) -> None:
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
        names = self._catalog.names
        name = written.strip()
        for spelled in (written, name):
            if spelled in self._catalog.rows:
                return Resolution(written, spelled, "exact")
        for form in (name, *list_forms(name)[1:]):
            rows = self._catalog.spellings.find(form)
            if len(rows) == 1:
                return Resolution(written, names[rows[0]], "alias")
            if rows:
                return Resolution(written, ambiguous=[names[row] for row in rows])
        return Resolution(written, suggestions=self._find_similar(name) or None)

    @cached_property
    def _spelled(self) -> tuple[list[str], list[int]]:
        """Return what names are compared by: whole, and without prefixes if they have any."""
        spelled = []
        rows = []
        for row, name in enumerate(self._catalog.names):
            for form in _normalise_name(name):
                spelled.append(form)
                rows.append(row)
        return spelled, rows

    def _find_similar(self, name: str) -> list[str]:
        from rapidfuzz.distance import JaroWinkler
        from rapidfuzz.process import extract

        spelled, rows = self._spelled
        best: dict[int, float] = {}
        for letters in _normalise_name(name):
            alike = extract(
                letters,
                spelled,
                scorer=JaroWinkler.normalized_similarity,
                score_cutoff=SIMILAR,
                limit=3 * MAX_SUGGESTIONS,  # all forms of a name may be among them
            )
            for _, similarity, place in alike:
                best[rows[place]] = max(similarity, best.get(rows[place], 0.0))
        ranked = sorted(best.items(), key=lambda hit: (-hit[1], hit[0]))
        return [self._catalog.names[row] for row, _ in ranked[:MAX_SUGGESTIONS]]


def _normalise_name(name: str) -> list[str]:
    """Return the letters and digits of a name: of all, and after its first and last prefix."""
    written = list_forms(name)
    return list(dict.fromkeys(form[:COMPARED] for form in (*written[:2], *written[-1:])))
