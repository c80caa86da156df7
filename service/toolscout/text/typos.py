"""The words of a catalog, for completing and correcting unknown words."""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable
from itertools import chain

MIN_WORD = 3
"""Minimum characters of a correction."""

MAX_ALTERNATIVES = 4
"""Maximum number of completions or corrections of one word."""

SHORT_LETTERS = 4
"""Letters of a word up to which one edit is corrected."""

LONG_LETTERS = 12
"""Letters of a word up to which two edits are corrected; in longer ones three are."""

REMEMBERED = 2_000
"""Maximum number of cached corrections (about 0.4 MB)."""


class Vocabulary:
    """Terms in alphabetical order by their first letter.

    One list per letter, because sorting all at once would hold the interpreter lock for
    milliseconds.
    """

    __slots__ = ("_by_letter", "_corrected")

    def __init__(self, terms: Iterable[str]) -> None:
        self._by_letter: dict[str, list[str]] = {}
        self._corrected: dict[str, list[tuple[str, int]]] = {}
        for term in terms:
            self._by_letter.setdefault(term[0], []).append(term)
        for words in self._by_letter.values():
            words.sort()

    def with_changes(self, gone: Collection[str], new: Collection[str]) -> "Vocabulary":
        """Return the same terms without some, and with new ones; other letters are shared."""
        made = Vocabulary(())
        made._by_letter = {**self._by_letter}
        for letter in {term[0] for term in (*gone, *new)}:
            made._by_letter[letter] = [*self._by_letter.get(letter, ())]
        for term in gone:
            words = made._by_letter[term[0]]
            del words[bisect_left(words, term)]
        for term in new:
            insort(made._by_letter[term[0]], term)
        return made

    def terms(self) -> list[str]:
        """Return all terms."""
        return [*chain.from_iterable(self._by_letter.values())]

    def find_by_prefix(self, prefix: str) -> list[str]:
        """Return a few terms with this prefix, the shortest first."""
        words = self._by_letter.get(prefix[:1], [])
        start = bisect_left(words, prefix)
        end = bisect_left(words, prefix + "\U0010ffff")
        return sorted(words[start:end], key=lambda term: (len(term), term))[:MAX_ALTERNATIVES]

    def find_corrections(self, written: str, stem: str) -> list[tuple[str, int]]:
        """Return a few terms within the edit distance of a typo, nearest first, with their edits.

        Compared are the word and its stem, because terms are stems: "databpse" is one edit from
        "databas" without its ending. Edits are insertions, deletions, substitutions and
        transpositions of neighbours: one up to four characters, two up to twelve, three beyond. The
        first letter, or the first two swapped, must match, because people rarely mistype it.
        """
        corrected = self._corrected.get(written)
        if corrected is None:
            if len(self._corrected) >= REMEMBERED:
                self._corrected.clear()
            corrected = self._corrected[written] = self._find_nearest(written, stem)
        return corrected

    def _find_nearest(self, written: str, stem: str) -> list[tuple[str, int]]:
        from rapidfuzz.distance import OSA
        from rapidfuzz.process import extract

        limit = _limit_edits(len(written))
        near: dict[str, int] = {}
        for first in dict.fromkeys(written[:2]):
            words = self._by_letter.get(first, ())
            for spelling in dict.fromkeys((written, stem)):
                hits = extract(spelling, words, scorer=OSA.distance, score_cutoff=limit, limit=None)
                for word, edits, _ in hits:
                    near[word] = min(edits, near.get(word, limit))
        near = {word: edits for word, edits in near.items() if len(word) >= MIN_WORD}
        fewest = min(near.values(), default=0)
        nearest = sorted(word for word, edits in near.items() if edits == fewest)
        return [(word, fewest) for word in nearest[:MAX_ALTERNATIVES]]


def _limit_edits(letters: int) -> int:
    """Return how many edits a word of so many letters may be away from another."""
    if letters <= SHORT_LETTERS:
        return 1
    return 2 if letters <= LONG_LETTERS else 3
