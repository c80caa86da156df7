"""Everyday words of other languages as the English words that tools use for them.

Two to four words ("öffne die Rechnung") are too few to find a tool by their likeness to English
ones: the verb decides, and none may be lost. So these words are looked up in lists made by hand.
A word is known by its beginning, which is enough of a stemmer for all these languages.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, takewhile
from re import Match
from typing import NamedTuple

from toolscout import data
from toolscout.common.spelling import fold, normalise
from toolscout.text.tokens import MAX_QUERY_WORDS, MAX_WORD, WORDS, analyse_word

FIRST_CJK = "⺀"
"""The first Chinese or Japanese character."""

FIRST_HANGUL = "가"
"""The first Korean syllable, after all of these."""

LISTS = ("everyday", "household")
"""Files of everyday words: of work, and at home."""

LONGEST = 8
"""Characters of the longest Chinese or Japanese word in the lists."""

MIN_LETTERS = 3
"""Letters from which an English word of grammar tells the language."""

_PARTS = re.compile(r"\S+")
_NAMES_SOMETHING = re.compile(r"[@/\\_]|\w\.\w")
"""In a part between spaces: it is an address, a path, an identifier or a file, and no words."""

MIN_TRANSLATED = 1 / 3
"""Share of a text's words that have to be in the lists of its language. Of .1, .2, .33 and .5,
with .33 the most requests in twelve languages found their tool."""

Known = Callable[[str], bool]
"""Tells whether any tool has a term."""


class Translation(NamedTuple):
    """A text with its everyday words in English."""

    english: str
    is_whole: bool
    """Whether no word is left."""
    is_said: bool
    """Whether tools have one of the translated words as it was said."""


def translate(text: str, text_words: Sequence[str], is_known: Known) -> Translation | None:
    """Translate the everyday words of a text that has these words.

    Returns None for an English text, and where tools have most of its words: they are described in
    that language, too.
    """
    if not load_grammar().isdisjoint(
        map(str.lower, text_words)
    ):  # as in nearly all English sentences
        return None
    pieces = (
        text_words if text.isascii() else list(chain.from_iterable(map(_cut_pieces, text_words)))
    )
    ranked = [piece for piece in pieces[:MAX_QUERY_WORDS] if len(piece) <= MAX_WORD]
    read = {piece: _read(piece) for piece in ranked}
    language = _find_language(read.values())
    meant = {piece: each[language] for piece, each in read.items() if language in each}
    if english().issuperset(map(str.lower, meant)):
        return None
    meant |= _read_with_particles(ranked, meant, language)
    telling = [piece for piece in meant if meant[piece] and piece.lower() not in english()]
    if all(meant[piece] in _load_loose_meanings() for piece in telling):
        return None
    count_of_tools = sum(all(map(is_known, analyse_word(piece))) for piece in telling)
    if 2 * count_of_tools > len(telling):
        return None
    meant = _read_by_object(ranked, meant)

    def english_of(part: Match[str]) -> str:
        return part[0] if _NAMES_SOMETHING.search(part[0]) else WORDS.sub(english_word, part[0])

    def english_word(word: Match[str]) -> str:
        return " ".join(meant.get(piece, piece) for piece in _cut_pieces(word[0]))

    english_text = _PARTS.sub(english_of, text)
    return Translation(english_text, meant.keys() >= set(pieces), count_of_tools > 0)


def _find_language(read: Collection[Mapping[str, str]]) -> str:
    """Return the language that has most of the words, "" where each has too few."""
    enough = MIN_TRANSLATED * len(read)
    if sum(map(bool, read)) < enough:  # as in most English texts
        return ""
    votes = Counter(chain.from_iterable(read))
    language, count = next(iter(votes.most_common(1)), ("", 0))
    return language if count >= enough else ""


def _read_with_particles(
    pieces: Sequence[str], meant: Mapping[str, str], language: str
) -> dict[str, str]:
    """Return verbs with a small word that belongs to them: "leg … an" is "anlegen"."""

    def is_small(piece: str) -> bool:
        return meant.get(piece) == ""

    found: dict[str, str] = {}
    for place, verb in enumerate(pieces):
        after = takewhile(is_small, pieces[place + 1 : place + 3])
        for particle in chain(after, filter(is_small, pieces[-1:])):
            meaning = _read(particle + verb, len(particle)).get(language)
            found |= {verb: meaning} if meaning else {}
    return found


def _read_by_object(pieces: Sequence[str], meant: Mapping[str, str]) -> dict[str, str]:
    """Return what verbs mean beside their object: to close a light is to turn it off."""
    said = frozenset(" ".join((*pieces, *meant.values())).lower().split())
    readings = [verbs for words, verbs in _load_objects() if not said.isdisjoint(words)]
    for verbs in readings:
        meant = {piece: verbs.get(meaning, meaning) for piece, meaning in meant.items()}
    if len(set(meant.values()) - {""}) == 1:
        alone = data.load("objects")["alone"]
        meant = {piece: alone.get(meaning, meaning) for piece, meaning in meant.items()}
    return dict(meant)


@cache
def _load_objects() -> list[tuple[frozenset[str], dict[str, str]]]:
    """Return the words of each kind of object, and what verbs mean beside one."""
    kinds = data.load("objects")["kinds"].values()
    return [(frozenset(kind["words"].split()), kind) for kind in kinds]


@cache
def _load_loose_meanings() -> frozenset[str]:
    """Return meanings that alone do not make a request: when, or which of several."""
    return frozenset(data.load("objects")["loose"].split())


def _cut_pieces(word: str) -> list[str]:
    """Cut Chinese and Japanese into longer words of the lists and what is between them."""
    if word.isascii() or not any(FIRST_CJK <= char < FIRST_HANGUL for char in word):
        return [word]
    pieces = [""]
    start = 0
    while start < len(word):
        ends = (
            range(min(len(word), start + LONGEST), start + 1, -1)
            if word[start] >= FIRST_CJK
            else ()
        )
        end = next((end for end in ends if word[start:end] in _load_lists()), start)
        if end > start:
            pieces += [word[start:end], ""]
        else:
            pieces[-1] += word[start]
        start = max(end, start + 1)
    return [piece for piece in pieces if piece]


@lru_cache(maxsize=65_536)
def _read(word: str, least: int = 0) -> dict[str, str]:
    """Return what a word means by language, by its longest beginning of more than `least`."""
    folded = fold(word)
    meanings = _load_lists().get(folded, {})
    for end in range(len(folded), least, -1):
        meanings = _load_lists().get(folded[:end] + "-", {}) | meanings
    return meanings


@cache
def _load_lists() -> dict[str, dict[str, str]]:
    """Return by word, or beginning of one, what it means by language; small words mean ""."""
    meanings: dict[str, dict[str, str]] = {}
    for language, small in data.load("foreign")["words"].items():
        said = chain(*(data.load(name)[language].items() for name in LISTS), [("", small)])
        for meaning, text in said:
            for word in map(fold, normalise(text).split()):
                meanings.setdefault(word, {}).setdefault(language, meaning)
    return meanings


@cache
def english() -> frozenset[str]:
    """Return English words of grammar, and those that words of other languages are spelt like."""
    return frozenset(" ".join(data.load("stopwords").values()).split()) | _load_spelt_like_english()


@cache
def _load_spelt_like_english() -> frozenset[str]:
    return frozenset(data.load("foreign")["english"].split())


@cache
def load_grammar() -> frozenset[str]:
    """Return the longer English words of grammar that no other language here has.

    Everyday words are not read for it, since nearly all English requests end here.
    """
    small = " ".join(data.load("foreign")["words"].values())
    shared = _load_spelt_like_english() | set(map(fold, small.split()))
    return frozenset(word for word in english() - shared if len(word) >= MIN_LETTERS)
