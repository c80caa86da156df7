"""What words and texts mean, as the native part asks: each word once, a text only where it may."""

from array import array
from typing import Any

from toolscout import data
from toolscout.contract.answers import Via
from toolscout.index import expand
from toolscout.index.catalog import Catalog
from toolscout.index.embedder import Embedder
from toolscout.index.languages import has_letters, load_plain_english
from toolscout.index.pattern_vectors import hash_term
from toolscout.text import everyday, negations, query, senses, tokens
from toolscout.text.query import QueryTerm

VIAS = (None, Via.SYNONYM, Via.PREFIX, Via.FUZZY)
"""How a term comes from a word, by its number in the native part."""


class Meanings:
    """What the native part calls back; `flags` are its names for what is said of a word."""

    split_words = staticmethod(tokens.split_words)
    strip_negated = staticmethod(negations.strip_negated)
    measure_unspaced = staticmethod(query.measure_unspaced)
    drop_names = staticmethod(query.drop_names_of_things)
    split_sentences = staticmethod(query.split_sentences)

    def __init__(self, embedder: Embedder, flags: Any) -> None:
        self._embedder = embedder
        self._flags = flags
        self._weights = query.load_word_weights()
        self.is_foreign = embedder.is_foreign
        self.is_foreign_by_words = embedder.is_foreign_by_words
        self._flags_of: dict[str, int] = {}
        for flag, listed in (
            (flags.NEGATES, negations.load_negators()),
            (flags.HAS_SENSES, senses.load_verbs()),
            (flags.IS_GRAMMAR, everyday.load_grammar()),
            (flags.CUTS, data.load("clauses")["cuts"].split()),
        ):
            for word in listed:
                self._flags_of[word] = self._flags_of.get(word, 0) | flag

    def describe_word(
        self, word: str
    ) -> tuple[float, float, tuple[str, ...], bytes, int, bytes, float]:
        """Return weight, number of parts, terms, their hashes, flags, tokens, known letters."""
        folded = word.lower()
        terms = tokens.analyse_word(word)
        flags = self._flags_of.get(folded, 0)
        if word.isalpha():
            if self._embedder.tells_language(word):
                flags |= self._flags.TELLS_LANGUAGE
            if folded in load_plain_english():
                flags |= self._flags.IS_PLAIN
        if not word.isascii() and has_letters(word):
            flags |= self._flags.HAS_LETTERS
        if self._embedder.is_word(word):
            flags |= self._flags.IS_REAL
        weight = self._weights.get(folded, 1.0)
        ids, known = self._embedder.find_tokens(word)
        parts = float(query.count_parts(word, terms))
        codes = array("I", map(hash_term, terms)).tobytes()
        return weight, parts, terms, codes, flags, ids, known

    def find_tokens(self, word: str, table: int) -> tuple[bytes, float]:
        """Return the tokens of a word in a text of another language."""
        return self._embedder.find_tokens_elsewhere(word, is_foreign=table == self._flags.FOREIGN)

    def find_spellings(
        self, catalog: Catalog, unknown: tuple[str, str], is_last_resort: bool
    ) -> tuple[tuple[str, int, float], ...]:
        """Return what an unknown word may stand for, given with its term."""
        term, word = unknown
        found = expand.find_spellings(
            QueryTerm(term, 1.0, word), catalog.postings, self._embedder.is_word, is_last_resort
        )
        return tuple([(spelling, VIAS.index(via), weight) for spelling, via, weight in found])

    @staticmethod
    def translates(catalog: Catalog, text: str) -> bool:
        """Whether a text is read as one of another language."""
        found = everyday.translate(text, tokens.split_words(text), catalog.has_term)
        return found is not None

    @staticmethod
    def drop_values(text: str) -> str | None:
        """Return a text without values; None if it has none."""
        return query.strip_values(text)

    @staticmethod
    def read_senses(text: str) -> tuple[str, dict[str, tuple[str, ...]]] | None:
        """Return a text with verbs replaced, and what they mean; None for the same text."""
        reading = senses.read(text)
        if not reading.meanings and reading.text == text:
            return None
        return reading.text, dict(reading.meanings)
