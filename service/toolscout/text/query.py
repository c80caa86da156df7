"""What the caller asked, analysed once: words, weighted terms, and whether it is a regex."""

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

import msgspec

from toolscout import data
from toolscout.contract import Via
from toolscout.text import senses
from toolscout.text.tokens import MAX_WORD, is_cjk, normalise, word_terms, words

MAX_PATTERN_CHARS = 4_096
"""Characters of a pattern that rank, unless configured otherwise."""

MAX_QUERY_WORDS = 256
"""Distinct words that rank: a pasted page says no more with its last thousand words."""

SENTENCE_CHARS = 13
"""Shorter sentences of a query ("Thanks!", "Hi there.") are not looked at on their own."""

MAX_SENTENCES = 16
"""Sentences that are looked at on their own."""

_PLACEHOLDERS = re.compile(r"<[^<>]*>")
_STOPS = re.compile(r"[.!?。！？\n]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)|\n+(?=\S)|(?<=[。！？])(?=\S)")

STOP_WEIGHT = 0.15
"""What a stop word counts beside content words: enough to break ties, too little to rank."""

ASKING_WEIGHT = 0.5
"""What "get" or "find" counts: how something is asked, and often part of a tool's name too."""


class QueryTerm(msgspec.Struct, frozen=True):
    """One term to look up, with its weight and the word it came from."""

    term: str
    weight: float
    word: str
    via: Via | None = None
    """How it was derived from the word; None when it is the word's own term."""
    credit: float = 0.0
    """For a derived term: the worth (weight times idf) of the word that it covers."""


class Query(msgspec.Struct, frozen=True):
    """An analysed pattern. Equal words count once, so repeating one changes nothing."""

    text: str
    terms: tuple[QueryTerm, ...]
    spoken: tuple[tuple[str, ...], ...]
    """The words as they are embedded: of the whole, then of each sentence if there are several."""
    unspaced: float = 0.0
    """Share of letters in scripts without spaces between words, 0 to 1."""
    said: str = ""
    """The text with verbs replaced by what they mean in it."""
    meanings: Mapping[str, tuple[str, ...]] = {}
    """What a verb means here, both as terms."""


def analyse(pattern: str) -> Query:
    """Split a pattern into weighted terms.

    Stop words weigh little, unless the query is made of nothing else.
    """
    text = normalise(pattern.strip())
    found = words(text)
    distinct = dict.fromkeys(found)
    if len(text) > MAX_WORD:
        distinct = dict.fromkeys([word[:MAX_WORD] for word in distinct][:MAX_QUERY_WORDS])
    lighter = word_weights()
    weights = [lighter.get(word.lower(), 1.0) for word in distinct]
    scale = 1.0 / max(weights, default=1.0)
    terms: dict[str, QueryTerm] = {}
    for word, weight in zip(distinct, weights, strict=True):
        for term in _word_query_terms(word, weight * scale):
            known = terms.get(term.term)
            if known is None or known.weight < term.weight:
                terms[term.term] = term
    said, meanings = senses.read(text, terms)
    if said != text:
        found = words(said)
    return Query(
        text,
        tuple(terms.values()),
        _spoken(said, found),
        _unspaced(text, distinct),
        said,
        meanings,
    )


@lru_cache(maxsize=65_536)
def _word_query_terms(word: str, weight: float) -> tuple[QueryTerm, ...]:
    """The terms of one word.

    An identifier's parts and its whole, or the bigrams of a word, overlap: together they weigh
    little more than one word.
    """
    parts = word_terms(word)
    share = weight if len(parts) == 1 else weight * 2.0 / (len(parts) + 1.0)
    return tuple(QueryTerm(part, share, word) for part in parts)


def _unspaced(text: str, found: Iterable[str]) -> float:
    if text.isascii():
        return 0.0
    letters = "".join(found)
    return sum(map(is_cjk, letters)) / len(letters) if letters else 0.0


def _spoken(text: str, found: list[str]) -> tuple[tuple[str, ...], ...]:
    """Words to embed of a text and of its sentences, `<placeholders>` dropped.

    A request for several tools names each in a sentence of its own, and a mean over all of them
    is near to none. Sentences as short as a greeting ask for nothing.
    """
    if "<" in text:
        text = _PLACEHOLDERS.sub(" ", text)
        found = words(text)
    whole = tuple(found[:MAX_QUERY_WORDS])
    if not _STOPS.search(text) or not _SENTENCE_END.search(text):  # most have none: found sooner
        return (whole,)
    parts = [part for part in _SENTENCE_END.split(text) if len(part.strip()) >= SENTENCE_CHARS]
    if len(parts) < 2:
        return (whole, tuple(words(parts[0]))) if parts else (whole,)
    return (whole, *(tuple(words(part)[:MAX_QUERY_WORDS]) for part in parts[:MAX_SENTENCES]))


def telling_terms(query: Query) -> list[str]:
    """The terms that say what for: no stop words, courtesy or words of asking."""
    lighter = word_weights()
    return [
        term.term
        for term in query.terms
        if term.via is None and term.word.lower() not in lighter and term.term not in lighter
    ]


@cache
def word_weights() -> dict[str, float]:
    """Weights below one: of function words, courtesy, and words of asking, lower case."""
    words_of = {kind: text.split() for kind, text in data.load("stopwords").items()}
    weights = dict.fromkeys(words_of["asking"], ASKING_WEIGHT)
    weights.update(dict.fromkeys(words_of["function"] + words_of["courtesy"], STOP_WEIGHT))
    return weights
