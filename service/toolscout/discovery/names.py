"""Find the tool that a written name stands for, as the service does, without asking it."""

from collections import defaultdict
from collections.abc import Sequence
from difflib import get_close_matches

from toolscout.common.spelling import forms, key
from toolscout.contract.answers import Resolution

MAX_SUGGESTIONS = 3
"""Maximum number of similar names suggested for an unknown one."""


class Names:
    """The names of one list of tools, in every spelling they answer to."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)
        self._whole: dict[str, list[str]] = defaultdict(list)
        self._without_prefix: dict[str, list[str]] = defaultdict(list)
        for name in names:
            whole, *bare = forms(name) or ("",)
            self._whole[whole].append(name)
            for form in bare:
                self._without_prefix[form].append(name)

    def resolve(self, written: str) -> Resolution:
        """Find a name exactly, else in any spelling, else without its prefixes.

        A name that fits several tools is ambiguous; an unknown one gets suggestions.
        """
        name = written.strip()
        for spelled in (written, name):
            if spelled in self._names:
                return Resolution(written, spelled, "exact")
        for form in (key(name), *forms(name)[1:]):
            found = self._whole.get(form) or self._without_prefix.get(form) if form else None
            if found and len(found) == 1:
                return Resolution(written, found[0], "alias")
            if found:
                return Resolution(written, ambiguous=found)
        return Resolution(written, suggestions=self._similar(key(name)) or None)

    def _similar(self, wanted: str) -> list[str]:
        near = get_close_matches(wanted, self._whole, MAX_SUGGESTIONS) if wanted else []
        return [name for form in near for name in self._whole[form]][:MAX_SUGGESTIONS]
