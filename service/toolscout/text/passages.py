"""Cut a long request into sentences, and tell which of them ask."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from toolscout import data
from toolscout.contract.bounds import MAX_PATTERN_CHARS, READ_BEFORE, cut
from toolscout.text.pasted import strip_pasted
from toolscout.text.tokens import split_words

SENTENCE_CHARS = 240
"""Characters of a sentence from which it is read in pieces."""

MOST_SENTENCES = 1_024
"""Sentences of a text that are read."""

_REMEMBERED = 32
"""Long requests whose parts are remembered, for each is read by several stages."""

_ENDS = re.compile(r"[.!?…]\s+|\n+|[。！？]")

_BEGINNING = 64
"""Characters of a sentence in which its first words are looked for."""


def split_sentences(text: str) -> list[str]:
    """Split a text at the ends of sentences and of lines; what is too long, at a space.

    Of more than `MOST_SENTENCES` the first quarter and the last ones are returned.
    """
    found = []
    starts = [0, *(end.end() for end in _ENDS.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        rest = text[start:end].strip()
        while len(rest) > SENTENCE_CHARS:
            at = rest.rfind(" ", 1, SENTENCE_CHARS)
            at = SENTENCE_CHARS if at < 0 else at
            found.append(rest[:at])
            rest = rest[at:].strip()
        if rest:
            found.append(rest)
    before = MOST_SENTENCES // READ_BEFORE
    too_many = len(found) - MOST_SENTENCES
    return found if too_many <= 0 else found[:before] + found[before + too_many :]


@lru_cache(1_024)
def is_asking(sentence: str) -> bool:
    """Tell whether a sentence is a question, a wish or an order, as far as English shows it."""
    if sentence.endswith(("?", "？")):
        return True
    told = _count_words()
    said = [word.lower() for word in split_words(sentence[:_BEGINNING])]
    at = 0
    while at < len(said) and said[at] in told.leads:
        at += 1
    if at < len(said) and said[at] in told.first:
        return True
    return len(said) > at + 1 and said[at] in told.askers and said[at + 1] in told.wishes


@cache
def load_asking_verbs() -> frozenset[str]:
    """Return the verbs that tools have and those that people ask with, lower case."""
    asking = data.load("clauses")
    risk = data.load("risk")
    verbs = [asking["verbs"], *risk["verbs"].values(), *risk["described"].values()]
    return frozenset(" ".join(verbs).split())


class _Words(NamedTuple):
    """Words by which a sentence asks."""

    leads: frozenset[str]
    first: frozenset[str]
    askers: frozenset[str]
    wishes: frozenset[str]


@cache
def _count_words() -> _Words:
    """Return the words of `clauses.toml`, with the verbs of tools."""
    asking = data.load("clauses")
    first = load_asking_verbs() | {*asking["questions"].split()}
    kinds = (asking["leads"], asking["askers"], asking["wishes"])
    leads, askers, wishes = (frozenset(text.split()) for text in kinds)
    return _Words(leads, first, askers, wishes)


def find_asking_part(pattern: str, most: int = MAX_PATTERN_CHARS) -> str:
    """Return what a request asks in at most so many characters, where no tools are at hand.

    Of a longer one the sentences that ask, and then the latest of the others, in their order.
    """
    text = pattern.strip()
    if len(text) <= most and "\n" not in text:
        return text
    return _choose_asking_part(cut(text), most)


def find_readable_part(pattern: str) -> str:
    """Return all that is read of a request, at most `MAX_READ_CHARS`, where tools are at hand."""
    text = pattern.strip()
    if len(text) <= MAX_PATTERN_CHARS and "\n" not in text:
        return text
    return _drop_pasted(cut(text))


@lru_cache(_REMEMBERED)
def _drop_pasted(text: str) -> str:
    return strip_pasted(text)


@lru_cache(_REMEMBERED)
def _choose_asking_part(text: str, most: int) -> str:
    text = _drop_pasted(text)
    if len(text) <= most:
        return text
    parts = split_sentences(text)
    kept: set[int] = set()
    left = most
    for place in find_latest_asking(parts):
        left -= len(parts[place]) + 1
        if left < 0:
            break
        kept.add(place)
    return "\n".join(parts[place] for place in sorted(kept))[:most]


def find_latest_asking(parts: Sequence[str]) -> list[int]:
    """Return the places of sentences: the last one, then those that ask, then the others.

    Of each kind the latest first.
    """
    last = len(parts) - 1
    return sorted(range(len(parts)), key=lambda at: (at != last, not is_asking(parts[at]), -at))
