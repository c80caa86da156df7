"""What the caller asked, analysed once: words, weighted terms, and whether it is a regex."""

from functools import cache

import msgspec

from toolscout import data
from toolscout.ranking.tokens import MAX_WORD, normalise, word_terms, words

MAX_PATTERN_CHARS = 4_096
"""Characters of a pattern that rank; the rest is ignored, never an error."""

MAX_QUERY_WORDS = 256
"""Distinct words that rank: a pasted page says no more with its last thousand words."""

STOP_WEIGHT = 0.15
"""What a stop word counts beside content words: enough to break ties, too little to rank."""


class QueryTerm(msgspec.Struct, frozen=True):
    """One term to look up, with its weight and the word it came from."""

    term: str
    weight: float
    word: str


class Query(msgspec.Struct, frozen=True):
    """An analysed pattern. Equal words count once, so repeating one changes nothing."""

    text: str
    words: tuple[str, ...]
    terms: tuple[QueryTerm, ...]


def analyse(pattern: str) -> Query:
    """Split a pattern into weighted terms.

    Stop words and filler weigh little, unless the query is made of nothing else.
    """
    text = normalise(pattern.strip()[:MAX_PATTERN_CHARS])
    distinct = dict.fromkeys(words(text))
    if len(text) > MAX_WORD:
        distinct = dict.fromkeys([word[:MAX_WORD] for word in distinct][:MAX_QUERY_WORDS])
    stopped = {word for word in distinct if word.lower() in stop_words()}
    stop_weight = STOP_WEIGHT if len(stopped) < len(distinct) else 1.0
    terms: dict[str, QueryTerm] = {}
    for word in distinct:
        weight = stop_weight if word in stopped else 1.0
        parts = word_terms(word)
        # An identifier's parts and its whole, or the bigrams of a word, overlap: together they
        # weigh little more than one word.
        share = weight if len(parts) == 1 else weight * 2.0 / (len(parts) + 1.0)
        for part in parts:
            known = terms.get(part)
            if known is None or known.weight < share:
                terms[part] = QueryTerm(part, share, word)
    return Query(text, tuple(distinct), tuple(terms.values()))


@cache
def stop_words() -> frozenset[str]:
    """Stop words and filler, lower case."""
    return frozenset(" ".join(data.load("stopwords").values()).split())
