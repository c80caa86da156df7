"""Which tools find what others require: the id of a customer, the token of a user.

A tool that requires `customer_id` can hardly be called without one that finds customers. Such a
tool has the noun in its name, reads, and does not require the same itself.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from toolscout.common.spelling import find_prefix
from toolscout.index.bm25 import Postings
from toolscout.text.tokens import analyse_word, analyse_words, split_identifier, split_words
from toolscout.tools.risk import find_verb_kind

_IDENTIFIERS = frozenset(("id", "ids", "uuid", "uuids", "guid", "key", "token", "tokens"))
"""Last words of parameters that hold what another tool finds."""

_BY_THEMSELVES = frozenset(("token",))
"""Those among them that name something without a noun before them."""

COMMON_SHARE = 0.5
"""Share of the tools, of servers that require it at all, above which a noun is what a connection
needs, such as a token, and no single call.
"""

MIN_TOOLS_TO_TELL = 5
"""Number of tools from which this can be told."""


@lru_cache(maxsize=16_384)
def find_needed_noun(parameter: str) -> str | None:
    """Return the noun that a parameter identifies (`customer_id`, `customerIds`), as a term."""
    parts = [part for word in split_words(parameter) for part in split_identifier(word)]
    if not parts or parts[-1].lower() not in _IDENTIFIERS:
        return None
    if len(parts) > 1:
        return analyse_word(parts[-2].lower())[-1]
    return parts[0].lower() if parts[0].lower() in _BY_THEMSELVES else None


class Prerequisites:
    """The tools of one catalog that find what others require."""

    __slots__ = ("_common", "_finders", "_names", "_needs", "_postings")

    def __init__(
        self, names: Sequence[str], needs: Sequence[Sequence[str]], postings: Postings
    ) -> None:
        """Take each tool's name, the nouns whose identifiers it requires, and where terms are."""
        self._names = names
        self._needs = needs
        self._postings = postings
        self._common: set[str] | None = None
        self._finders: dict[str, list[int]] = {}

    @property
    def needs(self) -> Sequence[Sequence[str]]:
        """The nouns whose identifiers each tool requires."""
        return self._needs

    def of(self, row: int) -> list[tuple[str, list[int]]]:
        """Return the nouns whose identifiers a tool requires, each with its possible finders."""
        nouns = [(noun, self._find_finders(noun)) for noun in self._needs[row]]
        return [(noun, finders) for noun, finders in nouns if finders]

    def prepare(self) -> set[str]:
        """Return the nouns that most tools of the servers with them require; counted once."""
        if self._common is None:
            servers = [find_prefix(name) for name in self._names]
            sizes = Counter(servers)
            counts = Counter(noun for nouns in self._needs for noun in nouns)
            where: dict[str, set[str]] = {}
            for server, nouns in zip(servers, self._needs, strict=True):
                for noun in nouns:
                    where.setdefault(noun, set()).add(server)
            self._common = {
                noun
                for noun, count in counts.items()
                if count >= MIN_TOOLS_TO_TELL
                and count > COMMON_SHARE * sum(sizes[server] for server in where[noun])
            }
        return self._common

    def _find_finders(self, noun: str) -> list[int]:
        finders = self._finders.get(noun)
        if finders is None:
            named = self._postings.find_named_rows(noun).tolist()
            finders = self._finders[noun] = [
                row
                for row in ([] if noun in self.prepare() else named)
                if noun not in self._needs[row]
                and noun in analyse_words(split_words(self._names[row]))
                and find_verb_kind(self._names[row]) in ("read_only", None)
            ]
        return finders
