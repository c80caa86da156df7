"""Domains of work: find that of a tool, a request or a workspace by indicative words.

One word proves nothing ("model" may mean a car): at least two different ones are needed, and
more than for any other domain. For filters alone, one word of a tool's name is enough (`k8s`). The
taxonomy is a data file.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from toolscout import data
from toolscout.text.tokens import analyse_terms, analyse_word, fold, speak_name, split_words

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

MIN_SIGNALS = 2
"""Different indicative words needed for a domain."""


class Taxonomy:
    """Indicative words of each domain, and the words that names of files stand for."""

    __slots__ = ("_files", "_names", "_namespaces", "_signals", "_terms", "domains")

    def __init__(
        self,
        signals: Mapping[str, str],
        files: Mapping[str, str],
        names: Mapping[str, str],
        namespaces: Mapping[str, str],
    ) -> None:
        """Take words, separated by blanks, for each domain and each file name or ending.

        `names` has words of each domain of which one in a tool's name is enough, `namespaces`
        those of which one is enough as part of its namespace.
        """
        self.domains = tuple(signals)
        self._signals: dict[str, tuple[str, ...]] = {}
        for domain, text in signals.items():
            for term in dict.fromkeys(analyse_word(word)[-1] for word in text.split()):
                self._signals[term] = (*self._signals.get(term, ()), domain)
        self._terms = frozenset(self._signals)
        self._names = _group_by_word(names)
        self._namespaces = self._names | _group_by_word(namespaces)
        self._files = {name.lower(): tuple(analyse_terms(text)) for name, text in files.items()}

    def domain_of(self, terms: Iterable[str]) -> str:
        """Return the domain with the most indicative words among some terms, or ""."""
        telling = self.telling(terms)
        return find_leading(self.count(telling))[0] if len(telling) >= MIN_SIGNALS else ""

    def telling(self, terms: Iterable[str]) -> frozenset[str]:
        """Return the terms that indicate a domain."""
        return self._terms.intersection(terms)

    def domain_of_namespace(self, namespace: str) -> str:
        """Return the one domain that the parts of a namespace indicate, or ""."""
        domains = {self._namespaces.get(fold(part), "") for part in namespace.split(".")} - {""}
        return domains.pop() if len(domains) == 1 else ""

    def domains_named(self, name: str) -> tuple[str, ...]:
        """Return the domains indicated by single words of a name, in their order."""
        # `s3Run` is one word where digits join their neighbours, `AWSRun` where they do not.
        cut = " ".join((speak_name(name), *split_words(_CAMEL.sub(" ", name))))
        parts = [fold(part) for part in cut.split()]
        pairs = [first + second for first, second in pairwise(parts)]  # BigQuery, GitHub
        domains = self._names
        forms = [form for part in parts for form in (part, analyse_word(part)[-1])]
        return tuple(dict.fromkeys(domains[form] for form in (*forms, *pairs) if form in domains))

    def count(self, terms: Iterable[str], weight: float = 1.0) -> dict[str, float]:
        """Count the different indicative words of each domain, times a weight."""
        counted: dict[str, float] = {}
        for term in self._terms.intersection(terms):
            for domain in self._signals[term]:
                counted[domain] = counted.get(domain, 0.0) + weight
        return counted

    def file_terms(self, name: str) -> tuple[str, ...]:
        """Return the indicative words of a file, by its name or its ending."""
        base = name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
        terms = self._files.get(base)
        if terms is None:
            terms = self._files.get("." + base.rpartition(".")[2], ())
        return terms


def _group_by_word(table: Mapping[str, str]) -> dict[str, str]:
    """Return the domain of each word and of its term."""
    return {
        form: domain
        for domain, text in table.items()
        for word in text.split()
        for form in (fold(word), analyse_word(word)[-1])
    }


def find_leading(counted: Mapping[str, float]) -> tuple[str, float]:
    """Return the leading domain and its lead; "" if it has too few signals or there is a tie."""
    first = ""
    second = ""
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
def load_bundled() -> Taxonomy:
    """Return the bundled taxonomy."""
    table: dict[str, Any] = data.load("domains")
    return Taxonomy(**table)
