"""Texts numbered once and tokenised once, so that a training step is only table look-ups."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

Ids = NDArray[np.int64]

TOKEN_LIMIT = 512
"""Tokens of a text that count, as in model2vec."""


class Corpus:
    """A growing list of distinct texts; `freeze` tokenises them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._place: dict[str, int] = {}
        self._tokens: Ids = np.zeros(0, dtype=np.int64)
        self._starts: Ids = np.zeros(1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.texts)

    def add(self, text: str) -> int:
        """Return the number of a text; a text seen before keeps its number."""
        text = text.strip() or "[UNK]"
        number = self._place.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number

    def add_all(self, texts: Sequence[str]) -> Ids:
        """Return the numbers of several texts."""
        return np.array([self.add(text) for text in texts], dtype=np.int64)

    def freeze(self, tokenizer: Tokenizer, unknown: int) -> None:
        """Tokenise every text; unknown tokens are left out, as model2vec does."""
        encodings = tokenizer.encode_batch_fast(self.texts, add_special_tokens=False)
        rows = [
            [i for i in encoding.ids if i != unknown][:TOKEN_LIMIT] or [unknown]
            for encoding in encodings
        ]
        self._tokens = np.array([i for row in rows for i in row], dtype=np.int64)
        self._starts = np.cumsum([0, *map(len, rows)])

    def bags(self, numbers: Ids) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids of the texts, end to end, and where each text starts."""
        parts = [self._tokens[self._starts[i] : self._starts[i + 1]] for i in numbers]
        lengths = self._starts[numbers + 1] - self._starts[numbers]
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        return torch.from_numpy(np.concatenate(parts)), torch.from_numpy(starts)
