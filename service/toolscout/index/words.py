"""Words that were looked up in a model's vocabulary before."""

from collections.abc import Callable, Sequence
from itertools import chain

CACHE_LIMIT = 100_000
"""Words that are remembered (about 20 MB); past it the cache starts anew."""


class Words:
    """The tokens of words, and how many of their letters are known: found once and remembered."""

    __slots__ = ("_find", "ids", "known")

    def __init__(self, find: Callable[[str], tuple[tuple[int, ...], float]]) -> None:
        self.ids: dict[str, tuple[int, ...]] = {}
        self.known: dict[str, float] = {}
        self._find = find

    def ids_of(self, word: str) -> tuple[int, ...]:
        """The tokens of a word."""
        ids = self.ids.get(word)
        return self.learn(word)[0] if ids is None else ids

    def ids_of_all(self, found: Sequence[str]) -> list[int]:
        """The tokens of some words, one after another."""
        try:
            return list(chain.from_iterable(map(self.ids.__getitem__, found)))
        except KeyError:
            return list(chain.from_iterable(map(self.ids_of, found)))

    def learn(self, word: str) -> tuple[tuple[int, ...], float]:
        """Find a word, and remember it."""
        if len(self.ids) >= CACHE_LIMIT:
            self.ids.clear()
            self.known.clear()
        ids, known = self._find(word)
        self.ids[word], self.known[word] = ids, known
        return ids, known
