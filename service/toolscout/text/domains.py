"""Fields of work: which one a tool, a request or a workspace belongs to, by telling words.

One word proves nothing ("model" is said of cars, too): at least two different ones are needed, and
more than for any other domain. For filters alone, one word of a tool's name is enough (`k8s`). The
taxonomy is a data file.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from toolscout import data
from toolscout.text.tokens import fold, spoken_name, terms, word_terms, words

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

MIN_SIGNALS = 2
"""Different telling words before a domain is named."""


class Taxonomy:
    """Telling words of each domain, and what names of files stand for."""

    __slots__ = ("_files", "_names", "_signals", "_terms", "domains")

    def __init__(
        self, signals: Mapping[str, str], files: Mapping[str, str], names: Mapping[str, str]
    ) -> None:
        """Take words, separated by blanks, for each domain and each file name or ending.

        `names` holds the words of each domain that tell it alone where a tool is named by them.
        """
        self.domains = tuple(signals)
        self._signals: dict[str, tuple[str, ...]] = {}
        for domain, text in signals.items():
            for term in dict.fromkeys(word_terms(word)[-1] for word in text.split()):
                self._signals[term] = (*self._signals.get(term, ()), domain)
        self._terms = frozenset(self._signals)
        self._names: dict[str, str] = {}
        for domain, text in names.items():
            for word in text.split():
                self._names.update(dict.fromkeys((fold(word), word_terms(word)[-1]), domain))
        self._files = {name.lower(): tuple(terms(text)) for name, text in files.items()}

    def domain_of(self, found: Iterable[str]) -> str:
        """The one domain that most telling words among some terms speak for, or ""."""
        telling = self._terms.intersection(found)
        return leading(self.count(telling))[0] if len(telling) >= MIN_SIGNALS else ""

    def domains_named(self, name: str) -> tuple[str, ...]:
        """The domains that single words of a name tell, in their order, however it is written."""
        # Where digits join what is around them `s3Run` is one word, where they do not `AWSRun` is.
        cut = " ".join((spoken_name(name), *words(_CAMEL.sub(" ", name))))
        parts = [fold(part) for part in cut.split()]
        pairs = [first + second for first, second in pairwise(parts)]  # BigQuery, GitHub
        known = self._names
        forms = [form for part in parts for form in (part, word_terms(part)[-1])]
        return tuple(dict.fromkeys(known[form] for form in (*forms, *pairs) if form in known))

    def count(self, found: Iterable[str], weight: float = 1.0) -> dict[str, float]:
        """How many different telling words there are of each domain, times a weight."""
        counted: dict[str, float] = {}
        for term in self._terms.intersection(found):
            for domain in self._signals[term]:
                counted[domain] = counted.get(domain, 0.0) + weight
        return counted

    def file_terms(self, name: str) -> tuple[str, ...]:
        """The telling words that a file stands for, by its name or its ending."""
        base = name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
        known = self._files.get(base)
        if known is None:
            known = self._files.get("." + base.rpartition(".")[2], ())
        return known


def leading(counted: Mapping[str, float]) -> tuple[str, float]:
    """The domain with the most signals and by how many it leads; "" when it has too few or ties."""
    first, second = "", ""
    for domain in sorted(counted):
        if counted[domain] > counted.get(first, 0.0):
            first, second = domain, first
        elif counted[domain] > counted.get(second, 0.0):
            second = domain
    lead = counted.get(first, 0.0) - counted.get(second, 0.0)
    if counted.get(first, 0.0) < MIN_SIGNALS or lead <= 0:
        return "", 0.0
    return first, lead


@cache
def bundled() -> Taxonomy:
    """The taxonomy that comes with the package."""
    table: dict[str, Any] = data.load("domains")
    return Taxonomy(table["signals"], table["files"], table["names"])
