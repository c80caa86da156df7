"""Words that were looked up in a model's vocabulary before."""

from collections.abc import Callable, Sequence
from itertools import chain

CACHE_LIMIT = 500_000
"""Words and tokens of them, together, that are remembered (about 20 MB); past it the cache starts
anew. A run of Chinese or Japanese is one word, with eight tokens for each of its pieces.
"""


class Words:
    """The tokens of words, and how many of their letters are known: found once and remembered."""

    __slots__ = ("_find", "_held", "ids", "known")

    def __init__(self, find: Callable[[str], tuple[tuple[int, ...], float]]) -> None:
        self.ids: dict[str, tuple[int, ...]] = {}
        self.known: dict[str, float] = {}
        self._find = find
        self._held = 0

    def ids_of(self, word: str) -> tuple[int, ...]:
        """Return the tokens of a word."""
        ids = self.ids.get(word)
        return self.learn(word)[0] if ids is None else ids

    def ids_of_all(self, found: Sequence[str]) -> list[int]:
        """Return the tokens of some words, one after another."""
        try:
            return list(chain.from_iterable(map(self.ids.__getitem__, found)))
        except KeyError:
            return list(chain.from_iterable(map(self.ids_of, found)))

    def learn(self, word: str) -> tuple[tuple[int, ...], float]:
        """Find a word, and remember it."""
        ids, known = self._find(word)
        self._held += 2 + len(ids)
        if self._held > CACHE_LIMIT:
            self.ids.clear()
            self.known.clear()
            self._held = 0
        self.ids[word], self.known[word] = ids, known
        return ids, known
