"""Which tools find what others require: the id of a customer, the token of a user.

A tool that requires `customer_id` can hardly be called without one that finds customers. Such a
tool has the noun in its name, reads, and does not require the same itself.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from toolscout.common.spelling import prefix
from toolscout.text.tokens import split_identifier, word_terms, words
from toolscout.tools.risk import verb_kind

_IDENTIFIERS = frozenset(("id", "ids", "uuid", "uuids", "guid", "key", "token", "tokens"))
"""Last words of parameters that hold what another tool finds."""

_BY_THEMSELVES = frozenset(("token",))
"""Those among them that name something without a noun before them."""

COMMON, COMMON_TOOLS = 0.5, 5
"""Share of the tools, of servers that require it at all, above which a noun is what a connection
needs, such as a token, and no single call; and the number of tools from which this can be told.
"""


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
            wanted -= self._common()
            found: dict[str, list[int]] = {}
            for row, terms in enumerate(terms_of if wanted else ()):
                nouns = wanted.intersection(terms).difference(self._needs[row])
                if nouns and verb_kind(names[row]) in ("read_only", None):
                    for noun in nouns:
                        found.setdefault(noun, []).append(row)
            self._providers = found
            self._names = self._terms = ()  # read first above: a thread may be beside this one
        return self._providers

    def _common(self) -> set[str]:
        """Return the nouns that most tools of the servers with them require."""
        servers = [prefix(name) for name in self._names]
        sizes, counts = Counter(servers), Counter(noun for nouns in self._needs for noun in nouns)
        where: dict[str, set[str]] = {}
        for server, nouns in zip(servers, self._needs, strict=True):
            for noun in nouns:
                where.setdefault(noun, set()).add(server)
        return {
            noun
            for noun, count in counts.items()
            if count >= COMMON_TOOLS
            and count > COMMON * sum(sizes[server] for server in where[noun])
        }

    def of(self, row: int) -> list[tuple[str, list[int]]]:
        """Return the nouns whose identifiers a tool requires, each with its possible finders."""
        nouns = self._needs[row]
        if not nouns:
            return []
        providers = self.prepare()
        return [(noun, providers[noun]) for noun in nouns if noun in providers]
