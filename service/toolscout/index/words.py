"""The tokens of words: of the English model, or of a dictionary of other languages.

Words are tokenised once and remembered. Which language a text is in is told by its letters, and by
its words of grammar.
"""

from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from toolscout.index.languages import (
    SHARES,
    Languages,
    has_letters,
    is_foreign,
    load_function_words,
    may_be_foreign,
)
from toolscout.text.tokens import MAX_WORD, speak_name, split_words

KNOWN_EXCESS = 1.5
"""Letters per token, beyond the first, from which a word counts as fully known."""

CACHE_LIMIT = 500_000
"""Words and tokens of them, together, that are remembered (about 20 MB); past it the cache starts
anew. A run of Chinese or Japanese is one word, with eight tokens for each of its pieces.
"""

ID_BYTES = 8
"""Bytes of a packed token."""


class Words(dict[str, bytes]):
    """The tokens of words, and how many of their letters are known: found once and remembered.

    Tokens are packed as int64: bytes take less memory than tuples, and are joined faster.
    """

    __slots__ = ("_find", "_held", "known")

    def __init__(self, find: Callable[[str], tuple[tuple[int, ...], float]]) -> None:
        super().__init__()
        self.known: dict[str, float] = {}
        self._find = find
        self._held = 0

    def __missing__(self, word: str) -> bytes:
        return self.learn(word)[0]

    def ids_of(self, text_words: Sequence[str]) -> NDArray[np.int64]:
        """Return the tokens of some words, one after another."""
        return np.frombuffer(b"".join(map(self.__getitem__, text_words)), np.int64)

    def familiarity(self, text_words: Sequence[str]) -> float:
        """How far the model knows some words, 0 to 1, long words counting more.

        A word that the vocabulary has as a whole is known; one that falls apart into single
        letters (gibberish) has a vector that means nothing. Letters of pieces that the vocabulary
        does not have are unknown.
        """
        total = known = 0.0
        letters_of = self.known
        for word in text_words:
            letters = letters_of.get(word)
            if letters is None:
                letters = self.learn(word)[1]
            total += len(word)
            known += letters
        return known / total if total else 0.0

    def look_up(self, word: str) -> tuple[bytes, float]:
        """Return the tokens of a word, and how many of its letters are known."""
        ids = self.get(word)
        letters = self.known.get(word)
        return self.learn(word) if ids is None or letters is None else (ids, letters)

    def learn(self, word: str) -> tuple[bytes, float]:
        """Find a word, and remember it."""
        tokens, letters = self._find(word)
        ids = array("q", tokens).tobytes()
        self._held += 2 + len(tokens)
        if self._held > CACHE_LIMIT:
            self.clear()
            self.known.clear()
            self._held = 0
        self[word] = ids
        self.known[word] = letters
        return ids, letters


LEAST_FOREIGN = 2
"""Words without an accent that tell another language; one may be anything."""

PIECE_LETTERS = 2.5
"""Letters of a dictionary's pieces, on average, from which they are more than syllables."""


class WordTables:
    """How a model looks words up: as English, as a text with other letters, or as foreign.

    Args:
        tokenizer: of the model.
        unknown: the token that stands for none.
        languages: folder of the dictionary; None for a model without one.
    """

    def __init__(self, tokenizer: Tokenizer, unknown: int | None, languages: Path | None) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._unknown = unknown
        # Plain words are cut by the bundled model's own table, at a fifth of the cost: of these its
        # tokenizer changes nothing but the case.
        self._word_pieces = None if languages is None else tokenizer.model
        self._words = Words(self._find)
        self._foreign = Words(lambda word: self._find_foreign(word, self._is_foreign_part))
        self._mixed = Words(lambda word: self._find_foreign(word, has_letters))
        self._languages_at = languages
        self._telling = frozenset[str]() if languages is None else load_function_words()
        self._languages: Languages | None = None
        self._loading = Lock()

    def familiarity(self, text_words: Sequence[str]) -> float:
        """How far the model knows the words, 0 to 1; see `Words.familiarity`."""
        return self._split(text_words).familiarity(text_words)

    def is_foreign(self, text_words: Sequence[str]) -> bool:
        """Whether words are a text in another language with Latin letters, by its grammar."""
        if self._telling.isdisjoint(text_words):
            return False
        return is_foreign(text_words, self._has_whole)

    def needs_languages(self, text: str) -> bool:
        """Whether a text needs the dictionary of other languages, and it is not loaded."""
        if self._languages is not None or self._languages_at is None:
            return False
        return self.is_in_other_language(text) or bool(
            may_be_foreign(split_words(text), self._has_whole)
        )

    def is_in_other_language(self, text: str) -> bool:
        """Whether a text is in a language of which English tools have no word."""
        if not text.isascii() and has_letters(text):
            return True
        return self.is_foreign(split_words(text))

    def is_foreign_by_words(self, text_words: Sequence[str]) -> bool:
        """Whether a question is in another language by its words, without any of its grammar.

        At least half of those that the English model does not know have to be in the dictionary as
        a whole, or in few pieces with an accent: pieces are in what means nothing, too.
        """
        if self._languages_at is None:
            return False
        unknown = may_be_foreign(text_words, self._has_whole)
        if len(unknown) < LEAST_FOREIGN and "".join(unknown).isascii():
            return False
        return 2 * sum(map(self._is_translated, unknown)) >= len(unknown)

    def _is_translated(self, word: str) -> bool:
        """Whether the dictionary knows a word as a whole, or one with an accent by few pieces."""
        languages = self.load_languages()
        if word in languages:
            return True
        pieces = languages.split(word)
        return not word.isascii() and pieces.letters >= PIECE_LETTERS * len(pieces.ids) / SHARES

    def prepare(self) -> None:
        """Load what only some questions need; it takes 0.1 s and 23 MiB."""
        if self._languages_at is not None:
            self.load_languages()

    def load_languages(self) -> Languages:
        """Load the dictionary of other languages, unless it is there."""
        with self._loading:
            if self._languages is None:
                assert self._languages_at is not None
                self._languages = Languages(self._languages_at)
            return self._languages

    def is_word(self, word: str) -> bool:
        """Whether the model's vocabulary has a word as a whole: then it is no typing error."""
        return self._has_whole(word) and (word.isascii() or self._cut_pieces(word)[1] >= len(word))

    def tells_language(self, word: str) -> bool:
        """Whether a word is one of those by which a text may be in another language."""
        return word in self._telling

    def find_tokens(self, word: str) -> tuple[bytes, float]:
        """Return the packed tokens of a word of an English text, and its known letters."""
        return self._words.look_up(word)

    def find_tokens_elsewhere(self, word: str, *, is_foreign: bool) -> tuple[bytes, float]:
        """Return the same of a foreign text, or of one that has other letters."""
        return (self._foreign if is_foreign else self._mixed).look_up(word)

    def _has_whole(self, word: str) -> bool:
        return len(self._words[word]) == ID_BYTES

    def _split(self, text_words: Sequence[str]) -> Words:
        """How words of a text are looked up: another language has words that look like English."""
        if self._languages_at is None:
            return self._words
        if not "".join(text_words).isascii() and any(map(has_letters, text_words)):
            return self._mixed
        return self._foreign if self.is_foreign(text_words) else self._words

    def _find(self, word: str) -> tuple[tuple[int, ...], float]:
        ids, letters = self._cut_pieces(word)
        return ids, _count_known_letters(ids, letters, word)

    def _find_foreign(
        self, word: str, is_in_dictionary: Callable[[str], bool]
    ) -> tuple[tuple[int, ...], float]:
        """Find a word part by part; an English one counts as much as a piece of another."""
        languages = self.load_languages()
        ids: list[int] = []
        letters_known = 0.0
        for part in speak_name(word[:MAX_WORD]).split():
            pieces = languages.split(part) if is_in_dictionary(part) else None
            if pieces is not None and pieces.ids:
                ids.extend(pieces.ids)
                letters_known += pieces.known
            else:
                own, letters = self._tokenize(part)
                ids.extend(own * SHARES)
                letters_known += _count_known_letters(own, letters, part)
        return tuple(ids), letters_known

    def _is_foreign_part(self, part: str) -> bool:
        """Whether a word of a foreign text is no English one."""
        if has_letters(part) or part in self.load_languages():
            return True
        own, letters = self._tokenize(part)
        return len(own) != 1 or letters < len(part)

    def _cut_pieces(self, word: str) -> tuple[tuple[int, ...], int]:
        """Tokens of a word that the vocabulary has, and how many letters they cover."""
        return self._tokenize(speak_name(word[:MAX_WORD]))

    def _tokenize(self, spoken: str) -> tuple[tuple[int, ...], int]:
        if self._word_pieces is not None and spoken.isascii() and spoken.isalnum():
            cut = self._word_pieces.tokenize(spoken.lower())
            pieces = [(piece.id, piece.offsets) for piece in cut]
        else:
            encoded = self._tokenizer.encode(spoken, add_special_tokens=False)
            pieces = list(zip(encoded.ids, encoded.offsets, strict=True))
        own = [(token, end - start) for token, (start, end) in pieces if token != self._unknown]
        return tuple(token for token, _ in own), sum(letters for _, letters in own)


def _count_known_letters(ids: Sequence[int], covered: int, word: str) -> float:
    """How many letters of a word count as known, by the tokens that cover some of them."""
    excess = (covered / len(ids) - 1.0) / KNOWN_EXCESS if ids else 0.0
    return min(covered, len(word)) * min(1.0, max(0.0, excess))
