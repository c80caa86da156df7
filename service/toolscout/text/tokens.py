"""Split text into terms, in the same way for tools and for queries.

A *word* is a run of letters and digits (every punctuation mark separates). A word becomes
one or more *terms*: identifiers are split at camelCase, acronyms and digits *before* case is
folded, accents are folded, English words are stemmed, and scripts written without spaces
become character bigrams. An identifier is indexed whole and by its parts,
so `s3`, `k8s` and `base64` are found both ways.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import chain, groupby

from toolscout.common.spelling import fold as fold
from toolscout.common.spelling import normalise as normalise

try:
    import Stemmer
except ImportError:  # the client alone, which infers domains by unstemmed words
    Stemmer = None

MAX_WORD = 64
"""Characters of one word that count; longer runs are encoded data, not language."""

MAX_QUERY_WORDS = 256
"""Maximum number of distinct words to rank by; a pasted page gains nothing from more."""

_WORD_CACHE_LIMIT = 200_000
"""Maximum number of words cached in the process (about 30 MB); then the cache is cleared."""

_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18-\u0fbc\u102b-\u103e\u1056-\u109d\u17b4-\u17d3\u20d0-\u20f0"
    "\u200c\u200d"
)
"""Vowel signs and other marks that belong to the letter before them, with the Indic blocks."""

WORDS = re.compile(rf"[^\W_][^\W_{_MARKS}]*(?:[{_MARKS}]+[^\W_{_MARKS}]*)*")
_ASCII_PARTS = re.compile(
    r"[A-Z]{2,}s(?![a-z])"  # a plural acronym: URLs, IDs
    r"|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
)
_CJK = (
    (0x1100, 0x11FF),  # Hangul jamo
    (0x2E80, 0x30FF),  # radicals, hiragana, katakana
    (0x3130, 0x318F),  # Hangul compatibility jamo
    (0x31A0, 0x31FF),  # bopomofo and katakana extensions
    (0x3400, 0x9FFF),  # ideographs
    (0xAC00, 0xD7AF),  # Hangul syllables
    (0xF900, 0xFAFF),  # compatibility ideographs
    (0x0E00, 0x0EFF),  # Thai and Lao, also written without spaces
    (0x20000, 0x3FFFF),  # ideographs beyond the basic plane
)

_SPACED = bytes(code if chr(code).isascii() and chr(code).isalnum() else 32 for code in range(256))
"""ASCII with a space for every character that separates words."""

# Without a cache, since ours holds the finished terms.
_stem_word: Callable[[str], str] = (
    str if Stemmer is None else Stemmer.Stemmer("english", 0).stemWord
)


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, case kept."""
    if text.isascii():  # nearly all tools are ASCII, at a third of the cost
        return text.encode().translate(_SPACED).decode().split()
    return WORDS.findall(normalise(text))


def analyse_terms(text: str) -> list[str]:
    """Return the index terms of a text in order, repeats kept."""
    return analyse_words(split_words(text))


def analyse_words(text_words: list[str]) -> list[str]:
    """Return the index terms of words in order, repeats kept."""
    return list(chain.from_iterable(map(_terms_of.__getitem__, text_words)))


def analyse_word(word: str) -> tuple[str, ...]:
    """Return the terms of one word: its stemmed parts, and the whole if it has several."""
    return _terms_of[word]


class _Terms(dict[str, tuple[str, ...]]):
    """The terms of each word, analysed once and remembered."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= _WORD_CACHE_LIMIT:
            self.clear()
        terms = self[word] = _analyse(word[:MAX_WORD])
        return terms


_terms_of = _Terms()


def split_identifier(word: str) -> list[str]:
    """Split an identifier, case kept: `HTTPServer2` → `HTTP`, `Server`, `2`."""
    if word.isascii():
        return _ASCII_PARTS.findall(word)
    return [
        part for kind, run in _split_runs(word) for part in ([run] if kind == "cjk" else _cut(run))
    ]


def speak_name(name: str) -> str:
    """Return a tool name as words of a sentence; letters and digits stay together.

    `mcp__github__getPRDiff` → `mcp github get PR Diff`, `s3_put` → `s3 put`.
    """
    if _is_plain(name):
        return name
    return " ".join(part for word in split_words(name) for part in _speak_parts(word))


@lru_cache(maxsize=8_192)
def is_cjk(char: str) -> bool:
    """Whether a character belongs to a script written without spaces between words."""
    code = ord(char)
    return code >= 0x0E00 and any(first <= code <= last for first, last in _CJK)


def _is_plain(word: str) -> bool:
    """Whether a word is one English word, in lower case or with a capital first letter."""
    return word.isascii() and word.isalpha() and (word.islower() or word.istitle())


def _analyse(word: str) -> tuple[str, ...]:
    if word.isascii():
        if _is_plain(word):
            return (_stem(word.lower()),)
        return _analyse_identifier(word, _ASCII_PARTS.findall(word))
    terms: list[str] = []
    for kind, run in _split_runs(word):
        terms.extend(_pair_letters(run) if kind == "cjk" else _analyse_identifier(run, _cut(run)))
    return tuple(terms)


def _analyse_identifier(word: str, parts: list[str]) -> tuple[str, ...]:
    joined = fold(word)
    if len(parts) == 1:
        return (_stem(joined),)
    # A single letter or digit of `s3` or `k8s` has no meaning alone, and marks fold to nothing.
    folded = [fold(part) for part in parts if len(part) > 1]
    return (*map(_stem, filter(None, folded)), joined)


def _stem(term: str) -> str:
    if len(term) < 3 or not term.isascii() or not term.isalpha():
        return term
    return _stem_word(term)


def _pair_letters(run: str) -> list[str]:
    return [run] if len(run) < 2 else [run[i : i + 2] for i in range(len(run) - 1)]


def _split_runs(word: str) -> list[tuple[str, str]]:
    """Cut a word where the script changes between spaced and unspaced writing."""
    grouped = groupby(word, key=lambda char: "cjk" if is_cjk(char) else "other")
    return [(kind, "".join(chars)) for kind, chars in grouped]


def _cut(run: str) -> list[str]:
    """Split at camelCase, acronym and digit borders in any alphabet."""
    parts: list[str] = []
    start = 0
    for i in range(1, len(run)):
        before = run[i - 1]
        here = run[i]
        after = run[i + 1 : i + 2]
        border = (
            (here.isupper() and not before.isupper())
            or (here.isupper() and before.isupper() and after.islower())
            or here.isdigit() != before.isdigit()
        )
        if border:
            parts.append(run[start:i])
            start = i
    parts.append(run[start:])
    return parts


def _speak_parts(word: str) -> list[str]:
    """Return identifier parts with a digit run joined to the letters before it."""
    joined: list[str] = []
    for part in split_identifier(word):
        if joined and (part[0].isdigit() or joined[-1][-1].isdigit()):
            joined[-1] += part
        else:
            joined.append(part)
    return joined
