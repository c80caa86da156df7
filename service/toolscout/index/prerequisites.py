"""Which tools find what others require: the id of a customer, the token of a user.

A tool that requires `customer_id` can hardly be called without one that finds customers. Such a
tool has the noun in its name, reads, and does not require the same itself.
"""

from collections.abc import Sequence
from functools import lru_cache

from toolscout.text.tokens import split_identifier, word_terms, words
from toolscout.tools.risk import verb_kind

_IDENTIFIERS = frozenset(("id", "ids", "uuid", "uuids", "guid", "key", "token", "tokens"))
"""Last words of parameters that hold what another tool finds."""

_BY_THEMSELVES = frozenset(("token",))
"""Those among them that name something without a noun before them."""


@lru_cache(maxsize=16_384)
def needed_noun(parameter: str) -> str | None:
    """Return the noun that a parameter identifies (`customer_id`, `customerIds`), as a term."""
    parts = [part for word in words(parameter) for part in split_identifier(word)]
    if not parts or parts[-1].lower() not in _IDENTIFIERS:
        return None
    if len(parts) > 1:
        return word_terms(parts[-2].lower())[-1]
    return parts[0].lower() if parts[0].lower() in _BY_THEMSELVES else None


class Prerequisites:
    """The tools of one catalog that find what others require."""

    __slots__ = ("_names", "_needs", "_providers", "_terms")

    def __init__(
        self,
        names: Sequence[str],
        terms: Sequence[Sequence[str]],
        needs: Sequence[Sequence[str]],
    ) -> None:
        """Take each tool's name, the terms of it, and the nouns whose identifiers it requires."""
        self._names, self._terms, self._needs = names, terms, needs
        self._providers: dict[str, list[int]] | None = None

    def prepare(self) -> dict[str, list[int]]:
        """Find the tools that provide each noun that is needed, unless that was done before."""
        names, terms_of = self._names, self._terms
        if self._providers is None:
            wanted = {noun for nouns in self._needs for noun in nouns}
            found: dict[str, list[int]] = {}
            for row, terms in enumerate(terms_of if wanted else ()):
                nouns = wanted.intersection(terms).difference(self._needs[row])
                if nouns and verb_kind(names[row]) in ("read_only", None):
                    for noun in nouns:
                        found.setdefault(noun, []).append(row)
            self._providers = found
            self._names = self._terms = ()  # read first above: a thread may be beside this one
        return self._providers

    def of(self, row: int) -> list[tuple[str, list[int]]]:
        """Return the nouns whose identifiers a tool requires, each with its possible finders."""
        nouns = self._needs[row]
        if not nouns:
            return []
        providers = self.prepare()
        return [(noun, providers[noun]) for noun in nouns if noun in providers]
