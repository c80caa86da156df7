"""A dictionary of other languages: pieces of words, and the English words that they stand for.

The bundled model knows English. A piece of a Korean word is written down as eight tokens of that
model's vocabulary, the closest more than once; their vectors are added up like any others, so that
a Korean question is compared with the vectors that English tools have already. Words are split into
pieces as SentencePiece's unigram model does it (Kudo 2018).
"""

from array import array
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from toolscout import data
from toolscout.common.spelling import normalise
from toolscout.text.everyday import english
from toolscout.text.tokens import is_cjk

BUNDLED_LANGUAGES = Path(__file__).parent.parent / "model" / "languages"

BEGIN = "▁"
"""Begins a piece that begins a word."""

SHARES = 8
"""English tokens that a piece stands for, those that are repeated included."""

_CYRILLIC = range(0x0400, 0x0530)
_HANGUL = range(0xAC00, 0xD7B0)
_KANA = range(0x3040, 0x3100)

_UNKNOWN = 25.0
"""Cost of a letter that no piece has; pieces cost less than 20."""

_AT_ONCE = 20_000
"""Letters of pieces that are read before another thread may run: half a millisecond."""

_ONE_IDEOGRAPH = 0.15
"""How far a Chinese character alone counts as known; any text is made of them."""

_ONE_KANA = 0.05
"""How far a Japanese syllable alone counts as known."""

SPACED_EXCESS = 1.5
"""Letters per piece, beyond the first, from which a word with spaces around it counts as known."""


class Pieces(NamedTuple):
    """What the dictionary has of a word."""

    ids: tuple[int, ...]
    """Tokens of the English vocabulary, `SHARES` for each piece, the closest more than once."""
    letters: int
    """Letters that the pieces cover."""
    known: float
    """How many letters count as known."""


class Languages:
    """The dictionary; loading it takes some 0.1 s, in short steps."""

    def __init__(self, folder: Path = BUNDLED_LANGUAGES) -> None:
        held = load_file(folder / "model.safetensors")
        text = held["pieces"].tobytes().decode()
        self._tokens: NDArray[np.uint16] = held["tokens"]
        self._costs = array("f", held["costs"].astype(np.float32).tobytes())
        self._ids: dict[str, int] = {}
        self._longest: dict[str, int] = {}
        """By the first letter of a piece, the letters of the longest."""
        at = 0
        while at < len(text):
            end = text.find("\n", at + _AT_ONCE)
            end = len(text) if end < 0 else end
            pieces = text[at:end].split("\n")
            count = len(self._ids)
            self._ids.update(zip(pieces, range(count, count + len(pieces)), strict=True))
            for piece in pieces:
                if len(piece) > self._longest.get(piece[0], 0):
                    self._longest[piece[0]] = len(piece)
            at = end + 1

    def __contains__(self, word: str) -> bool:
        return BEGIN + word.lower() in self._ids

    def split(self, word: str) -> Pieces:
        """Return the cheapest pieces of a word."""
        text = BEGIN + word.lower()
        pieces = [(text[start:end].lstrip(BEGIN), number) for start, end, number in self._cut(text)]
        ids = self._tokens[[number for _, number in pieces]].ravel().tolist()
        letters = sum(len(piece) for piece, _ in pieces)
        familiar = _count_known_letters(word, [piece for piece, _ in pieces], letters)
        return Pieces(tuple(ids), letters, familiar)

    def _cut(self, text: str) -> list[tuple[int, int, int]]:
        """Where the pieces begin and end, and which they are (Viterbi's algorithm)."""
        ids = self._ids
        costs = self._costs
        longest = self._longest
        size = len(text)
        least = [0.0, 0.0] + [float("inf")] * (size - 1)  # what begins a word costs nothing alone
        back: list[tuple[int, int]] = [(0, -1)] * (size + 1)
        for start in range(size):
            if start > 0 and least[start] + _UNKNOWN < least[start + 1]:
                least[start + 1] = least[start] + _UNKNOWN
                back[start + 1] = (start, -1)
            farthest = min(size, start + longest.get(text[start], 0))
            for end in range(max(start + 1, 2), farthest + 1):
                token = ids.get(text[start:end])
                if token is not None and least[start] + costs[token] < least[end]:
                    least[end] = least[start] + costs[token]
                    back[end] = (start, token)
        pieces: list[tuple[int, int, int]] = []
        end = size
        while end > 1:
            start, token = back[end]
            if token >= 0:
                pieces.append((start, end, token))
            end = start
        return pieces[::-1]


def has_letters(text: str) -> bool:
    """Whether a text has letters of a script that the dictionary is for, Latin ones aside."""
    return any(ord(char) in _CYRILLIC or is_cjk(char) for char in text)


def _count_known_letters(word: str, pieces: list[str], letters: int) -> float:
    if not pieces:
        return 0.0
    if not is_cjk(word[0]):
        excess = (letters / len(pieces) - 1.0) / SPACED_EXCESS
        return letters * min(1.0, max(0.0, excess))
    letters_known = 0.0
    follows = False
    for piece in pieces:
        is_hangul = ord(piece[0]) in _HANGUL
        follows = follows or len(piece) > 1
        if len(piece) > 1 or (is_hangul and follows):
            letters_known += len(piece)  # single syllables after a stem are its endings
        elif not is_hangul:
            letters_known += _ONE_KANA if ord(piece) in _KANA else _ONE_IDEOGRAPH
    return letters_known


MIN_LETTERS = 3
"""Letters of a word that tells a language; shorter ones are words of many languages."""

STRANGE = 1 / 3
"""Share of a text's words that have to be foreign or unknown."""


@cache
def load_function_words() -> frozenset[str]:
    """Return the function words, those that do not begin names in capitals, too."""
    foreign = _load_foreign_words() - english()
    names = frozenset(data.load("foreign")["in_names"].split())
    return frozenset(foreign | {word.capitalize() for word in foreign - names})


def is_foreign(text_words: Sequence[str], is_known: Callable[[str], bool]) -> bool:
    """Return whether words are a text in another language with Latin letters.

    `is_known` tells whether the model knows a word as a whole.
    """
    telling = load_function_words()
    if telling.isdisjoint(text_words):
        return False
    words = [word for word in dict.fromkeys(text_words) if word.isalpha()]
    foreign = [word for word in words if word in telling]
    plain = load_plain_english()
    if len(foreign) <= sum(word.lower() in plain for word in words):
        return False
    strange = sum(word not in telling and not is_known(word) for word in words)
    return len(foreign) + strange > STRANGE * len(words)


def may_be_foreign(text_words: Sequence[str], is_known: Callable[[str], bool]) -> list[str]:
    """Return the words that the model does not know, if a question can be foreign by them alone.

    Empty where it has a word of English grammar, or knows more than half of the words that tell:
    longer ones that are no names.
    """
    telling = [word for word in dict.fromkeys(text_words) if _is_telling(word)]
    plain = {word for word in map(str.lower, telling) if word in english()}
    if plain:
        return []
    unknown = [word for word in telling if not is_known(word)]
    return unknown if 2 * len(unknown) >= len(telling) else []


def _is_telling(word: str) -> bool:
    return len(word) >= MIN_LETTERS and word.isalpha() and not word[0].isupper()


@cache
def _load_foreign_words() -> frozenset[str]:
    texts: dict[str, str] = data.load("foreign")["words"]
    return frozenset(normalise(word) for text in texts.values() for word in text.split())


@cache
def load_plain_english() -> frozenset[str]:
    """Return English words of grammar that no other language here has, lower case."""
    return english() - _load_foreign_words()
