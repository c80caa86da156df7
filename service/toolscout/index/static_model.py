"""Load a model2vec model (bundled, in a folder, or of the hub), and look words up in it."""

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

from model2vec import StaticModel
from safetensors.numpy import load_file
from tokenizers import Tokenizer

BUNDLED_MODEL = Path(__file__).parent.parent / "model"


def load(source: str | Path) -> StaticModel:
    """Load a model from a folder, or from the hub as OWNER/NAME@COMMIT."""
    if Path(source) == BUNDLED_MODEL:
        return _bundled()
    return StaticModel.from_pretrained(_folder(source), force_download=False)


def _bundled() -> StaticModel:
    """Return the bundled model; `from_pretrained` imports the hub's client, for 0.2 s and 9 MB."""
    held = load_file(BUNDLED_MODEL / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(BUNDLED_MODEL / "tokenizer.json"))
    return StaticModel(held["embeddings"], tokenizer)


def _folder(source: str | Path) -> str | Path:
    """Where a model lies; one of the hub is downloaded once, as it was at its commit."""
    if Path(source).exists():
        return source
    from huggingface_hub import snapshot_download

    name, _, commit = str(source).partition("@")
    return snapshot_download(name, revision=commit, allow_patterns=["*.json", "*.safetensors"])


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

    def familiarity(self, found: Sequence[str]) -> float:
        """How far the model knows some words, 0 to 1, long words counting more.

        A word that the vocabulary has as a whole is known; one that falls apart into single
        letters (gibberish) has a vector that means nothing. Letters of pieces that the vocabulary
        does not have are unknown.
        """
        total = known = 0.0
        letters_of = self.known
        for word in found:
            letters = letters_of.get(word)
            if letters is None:
                letters = self.learn(word)[1]
            total += len(word)
            known += letters
        return known / total if total else 0.0

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
