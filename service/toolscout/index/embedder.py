"""Meaning: static embeddings (model2vec) compared by inner product (FAISS, one thread).

A text's vector is the mean of its tokens' rows in one matrix, normalised. A text without a
known token has the zero vector: no opinion, similarity 0 to everything.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from math import sqrt
from pathlib import Path
from typing import Any

import faiss
import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.errors import ConfigurationError
from toolscout.index.encoder.encoder import Encoder, Unread
from toolscout.index.languages import BUNDLED_LANGUAGES, SHARES
from toolscout.index.static_model import BUNDLED_MODEL, load
from toolscout.index.words import Words, WordTables

faiss.omp_set_num_threads(1)

Floats = NDArray[np.float32]

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}")

PART_SHARES = (1.0, 0.35, 0.1)
"""Weights of the vectors of a tool's text, its properties and its name. The name is in the text,
too: of .05, .1, .15 and .25 beside it, .1 gains most for vendors' tests and costs no group.
"""


TURN_SHARE = 0.8
"""Weight of the best fitting turn of a conversation beside the whole of it."""

SENTENCE_SHARE = 0.6
"""The same of a request's sentences. Of .4, .6 and .8, .6 keeps most of what both gain: tests of
vendors with several sentences gain with it, people's words do not lose.
"""


class QueryVectors(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A query as a whole, then by its turns or its sentences, each of shape (dimension,)."""

    vectors: list[Floats]
    familiarity: float
    """How much of the query the model knows, 0 to 1."""
    is_foreign: bool = False
    """Whether its words were looked up in the dictionary of other languages."""
    spoken: "QueryVectors | None" = None
    """Those of the question in its own language, where this is its translation."""
    parts_share: float = TURN_SHARE
    """Weight of the best fitting turn or sentence beside the whole."""
    unread: Unread | None = None
    """Why the transformer, where there is one, had no say."""


class Embedder(WordTables):
    """Texts to unit vectors with one static model.

    The vector of a text is that of `StaticModel.encode` for its words joined by spaces, with
    identifiers split. Words are tokenised once and remembered, so a query costs a few dictionary
    look-ups and one sum of rows.

    The bundled model knows English; words of other languages are looked up in a dictionary, which
    is loaded when a text first needs it.
    """

    def __init__(self, source: str | Path = BUNDLED_MODEL, *, has_encoder: bool = False) -> None:
        """Load a model2vec model from a folder, or from the hub as OWNER/NAME@COMMIT.

        Raises:
            ConfigurationError: a package of the extra `encoder` is missing.
        """
        model = load(source)
        self._rows = model.embedding
        self._mapping = model.token_mapping
        self._weights = model.weights
        is_bundled = Path(source) == BUNDLED_MODEL and BUNDLED_LANGUAGES.is_dir()
        super().__init__(
            model.tokenizer, model.unk_token_id, BUNDLED_LANGUAGES if is_bundled else None
        )
        self.dimension = int(self._rows.shape[1])
        self.encoder = Encoder(self.is_in_other_language) if has_encoder else None
        """A transformer that reads English queries and tools, too."""

    @property
    def rows(self) -> NDArray[Any]:
        """The rows of the tokens, shape (tokens, dimension)."""
        return self._rows

    @property
    def is_summed(self) -> bool:
        """Whether a text's vector is the plain sum of its tokens' rows, of whole numbers."""
        plain = self._mapping is None and self._weights is None and self._rows.dtype == np.int8
        return plain and self.encoder is None

    def query(
        self,
        spoken: Sequence[str],
        earlier: Sequence[tuple[Sequence[str], float]] = (),
        sentences: Sequence[Sequence[str]] = (),
        *,
        is_strange: bool = False,
    ) -> QueryVectors | None:
        """Return the vectors of a query, given as its words; None when no word of it is known.

        What was said `earlier` adds to the whole by its weight. It is also compared by itself, as
        is the last turn, and is as much less similar to everything. Without it, the `sentences` of
        the query are compared by themselves. A strange one, of which tools have hardly a word, may
        be in another language by its words alone.
        """
        is_foreign = is_strange and not earlier and self.is_foreign_by_words(spoken)
        table = self._foreign if is_foreign else self._split(spoken)
        familiar = table.familiarity(spoken)
        if earlier:
            familiar = self.familiarity([*spoken, *chain(*(turn for turn, _ in earlier))])
        parts = [turn for turn, _ in earlier] or sentences
        sums = np.zeros((1 + len(parts), self.dimension), np.float32)
        self._sum_rows(spoken, sums[0], table)
        for part, out in zip(parts, sums[1:], strict=True):
            self._sum_rows(part, out, None if earlier else table)
        weights = [weight for _, weight in earlier]
        return make_query_vectors(sums, weights, familiar, is_foreign=table is self._foreign)

    def tools(self, texts: Sequence[Sequence[Sequence[str]]]) -> Floats:
        """Return the vectors of tools, each given as the words of its text, properties and name.

        Appended to the text, properties blur it; as a vector of their own, at a lower weight, they
        help. Shape (tools, dimension).
        """
        sums = np.zeros((len(PART_SHARES), len(texts), self.dimension), np.float32)
        for row, parts in enumerate(texts):
            for part, part_words in zip(sums, parts, strict=True):
                self._sum_rows(part_words, part[row])
        shared = zip(PART_SHARES, sums, strict=True)
        return _scale_to_units(
            np.add.reduce([np.float32(share) * _scale_to_units(part) for share, part in shared])
        )

    def encode_all(self, texts: Sequence[Sequence[str]]) -> Floats:
        """Return the vectors of texts given as their words, shape (texts, dimension)."""
        sums = np.zeros((len(texts), self.dimension), np.float32)
        for text_words, out in zip(texts, sums, strict=True):
            self._sum_rows(text_words, out)
        return scale_sums(sums)

    def encode(self, text_words: Sequence[str], table: Words | None = None) -> Floats:
        """Return the vector of a text given as its words: (dimension,); zero if none is known.

        They are looked up in a `table`, by default in that of their language.
        """
        total = np.zeros(self.dimension, np.float32)
        self._sum_rows(text_words, total, table)
        return scale_to_unit(total)

    def _sum_rows(self, text_words: Sequence[str], out: Floats, table: Words | None = None) -> None:
        """Add up the rows of the words' tokens."""
        if table is None:
            table = self._split(text_words)
        ids = table.ids_of(text_words)
        if not len(ids):
            return
        rows = self._rows.take(ids if self._mapping is None else self._mapping[ids], axis=0)
        if self._weights is None:
            np.add.reduce(rows, axis=0, dtype=np.float32, out=out)
        else:
            out[:] = self._weights[ids].astype(np.float32) @ rows.astype(np.float32)
        if table is not self._words:
            out /= np.float32(SHARES)  # as long as an English text, beside which it may stand


def make_query_vectors(
    sums: Floats, weights: Sequence[float], familiarity: float, *, is_foreign: bool
) -> QueryVectors | None:
    """Return the vectors of a query; None when no word of it is known.

    Args:
        sums: of the rows of its words, then of each earlier turn or, without any, of each sentence;
            shape (1 + parts, dimension), changed.
        weights: of the earlier turns.
        familiarity: how much of it the model knows.
        is_foreign: whether its words were looked up in the dictionary of other languages.
    """
    if not weights:
        return pack_query_vectors(scale_sums(sums), familiarity, is_foreign=is_foreign)
    total, *parts = sums
    turns = [scale_to_unit(total.copy())]
    for part, weight in zip(parts, weights, strict=True):
        part *= np.float32(weight)
        total += part
        turns.append(scale_to_unit(part) * np.float32(weight))
    if familiarity <= 0 or not total.any():
        return None
    return QueryVectors([scale_to_unit(total), *turns], familiarity, is_foreign)


def pack_query_vectors(
    vectors: Floats, familiarity: float, *, is_foreign: bool
) -> QueryVectors | None:
    """Return the unit vectors of a query and of its sentences; None when no word is known."""
    if familiarity <= 0 or not vectors[0].any():
        return None
    share = SENTENCE_SHARE if len(vectors) > 1 else TURN_SHARE
    return QueryVectors([*vectors], familiarity, is_foreign, parts_share=share)


def scale_sums(sums: Floats) -> Floats:
    """Scale sums of rows to length one, zero rows stay; shape (texts, dimension).

    They are whole numbers, or eighths, so their squares are exact in any order.
    """
    squares = (sums.astype(np.float64) ** 2).sum(axis=1)
    scales = 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0))
    vectors: Floats = sums * scales.astype(np.float32)[:, None]
    return vectors


@lru_cache(maxsize=4)
def load_embedder(source: str, has_encoder: bool) -> Embedder:
    """Load a model once per process, and once more with the transformer beside it.

    Raises:
        ConfigurationError: there is no model2vec model of that name, or a package of the extra
            `encoder` is missing.
    """
    if not Path(source).exists() and not _HUB_ID.fullmatch(source):
        raise ConfigurationError(
            f"model: there is no folder {source}, and a model of the hub is"
            " named OWNER/NAME@COMMIT, with all 40 digits of the commit"
        )
    try:
        return Embedder(source, has_encoder=has_encoder)
    except ConfigurationError:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigurationError(f"model: cannot load {source}: {reason}") from error


def _scale_to_units(vectors: Floats) -> Floats:
    """Rows scaled to length one; zero rows stay."""
    norms = np.sqrt(np.einsum("td,td->t", vectors, vectors))
    scales = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    scaled: Floats = vectors * scales[:, None]
    return scaled


def scale_to_unit(vector: Floats) -> Floats:
    """Scaled to length one in place; the zero vector stays."""
    norm = sqrt(vector.dot(vector))
    if norm > 0:
        vector *= np.float32(1.0 / norm)
    return vector
