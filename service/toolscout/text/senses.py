"""The sense of a verb by the noun after it: filing a bug means creating it.

Only English verbs, where a request gives an order: at its beginning or after words such as "to",
"please" and "can you". In "list open issues" and "the log file" nothing is opened or logged.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from toolscout import data
from toolscout.text.tokens import word_terms

REACH = 5
"""Words after a verb in which its noun is searched."""

_ENDS = (".", "!", "?", ";", ":", ",")
_MARKS = ".,!?;:\"'()"
_PIECES = re.compile(r"\S+")
_CHANNEL = re.compile(r"#[^\W\d][\w-]*")
"""A channel of a chat, after a preposition: "send it to #general"."""


class Reading(NamedTuple):
    """A text with verbs replaced by their meanings, and the replaced verbs."""

    text: str
    meanings: dict[str, tuple[str, ...]]
    """From a verb with only one sense in the text to its meaning, both as terms."""


class _Sense(NamedTuple):
    verb: tuple[str, ...]
    objects: frozenset[str] | None
    """Terms of nouns; None for any noun."""
    meaning: str


class _Senses(NamedTuple):
    of: dict[str, list[_Sense]]
    """By the first word of the verb, as a term; the longest verbs first."""
    before: frozenset[str]
    breaks: frozenset[str]


def read(text: str, terms: Mapping[str, object]) -> Reading:
    """Find the verbs of a text with another sense; `terms` are those of its words."""
    if "#" not in text and _senses().of.keys().isdisjoint(terms.keys()):
        return Reading(text, {})
    pieces = list(_PIECES.finditer(text))
    found = [piece[0] for piece in pieces]
    literal = [_term(word) for word in found]
    pieces_out, place, meanings = [], 0, {}
    for start, end, meaning in _meant(found, literal):
        pieces_out += [text[place : pieces[start].start()], meaning]
        place = pieces[end - 1].end()
        meanings[literal[start]] = _terms(meaning.split())
        literal[start] = ""
    pieces_out.append(text[place:])
    alone = {verb: meant for verb, meant in meanings.items() if verb not in literal}
    return Reading("".join(pieces_out), alone)


def _meant(found: Sequence[str], terms: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the begin and end of each replaced verb, and its meaning."""
    senses, past = _senses(), 0
    for at, word in enumerate(found):
        if at and _CHANNEL.match(word) and found[at - 1].lower() in senses.breaks:
            yield at, at + 1, "channel"
        if terms[at] not in senses.of or at < past or not _is_order(found, at):
            continue
        for sense in senses.of[terms[at]]:
            end = at + len(sense.verb)
            if tuple(terms[at:end]) == sense.verb and _is_about(found[end:], sense.objects):
                yield at, end, sense.meaning
                past = end
                break


def _is_order(found: Sequence[str], at: int) -> bool:
    before = found[at - 1] if at else ""
    return not before or before.endswith(_ENDS) or before.lower() in _senses().before


def _is_about(found: Sequence[str], objects: frozenset[str] | None) -> bool:
    """Whether one of some nouns follows, after at most an article or an adjective.

    A plural without either is not the verb's object: "open issues" are issues that are open.
    """
    if objects is None:
        return True
    before = ""
    for place, word in enumerate(found[:REACH]):
        plain, term = word.strip(_MARKS).lower(), _term(word)
        if plain in _senses().breaks:
            return False
        if term in objects or f"{before}_{term}" in objects:
            return place > 0 or not plain.endswith("s")
        if word.endswith(_ENDS):
            return False
        before = term
    return False


@lru_cache(maxsize=16_384)
def _term(word: str) -> str:
    terms = word_terms(word.strip(_MARKS).lower())
    return terms[-1] if terms else ""


def _terms(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(_term, words))


@cache
def _senses() -> _Senses:
    lists = data.load("senses")
    rows = [(meaning, verbs, None) for meaning, verbs in lists["phrases"].items()]
    rows += [(each["means"], each["verbs"], each["objects"]) for each in lists["senses"]]
    found: dict[str, list[_Sense]] = {}
    for meaning, verbs, objects in rows:
        nouns = None if objects is None else frozenset(map(_joined, objects.split()))
        for verb in verbs.split():
            terms = _terms(verb.split("_"))
            found.setdefault(terms[0], []).append(_Sense(terms, nouns, meaning))
    for senses in found.values():
        senses.sort(key=lambda sense: -len(sense.verb))
    before, breaks = (frozenset(lists["words"][key].split()) for key in ("before", "breaks"))
    return _Senses(found, before, breaks)


def _joined(words: str) -> str:
    return "_".join(_terms(words.split("_")))
