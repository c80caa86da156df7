"""Find the sentences of a long request that ask for a tool, wherever they stand.

A vector of hundreds of words is near to nothing, and of a request with its history two sentences
say which tools are wanted: those that ask, and that some tool fits.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toolscout.index.catalog import Catalog
from toolscout.index.embedder import Embedder, Floats
from toolscout.index.facets import Allowed
from toolscout.index.source import Source
from toolscout.text.passages import find_asking_part, is_asking, split_sentences
from toolscout.text.query import QueryTerm, find_telling_terms
from toolscout.text.tokens import split_words

Fits = NDArray[np.float64]

LONG_CHARS = 320
"""Characters of a request from which its sentences are compared with the tools."""

LEAST_SENTENCES = 5
"""Sentences from which they are."""

MOST_COMPARED = 32
"""Sentences that are compared with each tool: those that ask, and of which tools say most."""

MOST_PAIRS = 300_000
"""Sentences times tools that are compared."""

MOST_KEPT = 4
"""Sentences that are ranked by, beside the last one."""

ASKING = 0.3
"""What it counts that a sentence asks, beside the cosine of the tool that fits it best."""

IN_WORDS = 0.15
"""What it counts that a tool has all words of a sentence, by their rarity."""

NEAR_BEST = 0.75
"""What a sentence is worth at least, as a share of the best one. With .85 the second wish of a
request is lost more often, with .65 long ones are ranked by talk, too."""


class Reader(Protocol):
    """Weighs and embeds texts for one catalog."""

    def weigh(self, parts: Sequence[str], *, is_fit: bool) -> tuple[list[float], list[float]]:
        """Return how much of each text any tool says, 0 to 1.

        With `is_fit` also how much of each that allowed tool says that says most.
        """

    def embed(self, parts: Sequence[str]) -> tuple[Floats, list[float]]:
        """Return the vectors of texts, shape (texts, dimension), and how familiar each is."""


def find_asking_sentences(
    text: str,
    source: Source,
    embedder: Embedder | None,
    allowed: Allowed | None = None,
    reader: Reader | None = None,
) -> str:
    """Return the sentences of a text that ask, and that some tool fits; all of a short text.

    The last one is among them where it asks, or where none does. A `reader` may be at hand.
    """
    if not len(source) or not isinstance(source, Catalog):
        return find_asking_part(text)
    said = split_sentences(text) if len(text) > LONG_CHARS else []
    if len(said) < LEAST_SENTENCES:
        return text
    parts = [*dict.fromkeys(said)]  # one that is repeated takes one place
    last = parts.index(said[-1])
    asks = [*map(is_asking, parts)]
    compared, fits = _measure_fits(
        parts, asks, source, reader or PlainReader(source, embedder, allowed), allowed
    )
    best = [int(place) for place in np.argsort(-fits, kind="stable")[:MOST_KEPT]]
    kept = {compared[place] for place in best if fits[place] >= NEAR_BEST * fits[best[0]]}
    if asks[last] or not any(asks):
        kept.add(last)
    return " ".join(parts[at] for at in sorted(kept))


def _measure_fits(
    parts: Sequence[str],
    asks: Sequence[bool],
    catalog: Catalog,
    reader: Reader,
    allowed: Allowed | None,
) -> tuple[list[int], Fits]:
    """Return which sentences are compared, and how well the best tool fits each, if it asks."""
    most = max(MOST_KEPT, min(MOST_COMPARED, MOST_PAIRS // len(catalog)))
    said, shares = reader.weigh(parts, is_fit=len(parts) <= most)
    worth = [ASKING * ask + share for ask, share in zip(asks, said, strict=True)]
    compared = sorted(range(len(parts)), key=lambda at: -worth[at])[:most]
    read = [parts[at] for at in compared]
    shares = [shares[at] for at in compared] if shares else reader.weigh(read, is_fit=True)[1]
    fits: Fits = IN_WORDS * np.array(shares) + ASKING * np.array([asks[at] for at in compared])
    if catalog.vectors is not None:
        rows = slice(None) if allowed is None else allowed
        vectors, _ = reader.embed(read)
        cosines = np.array(catalog.vectors.products([*vectors]))
        fits += cosines[:, rows].max(axis=1, initial=0.0)
    return compared, fits


class PlainReader:
    """Reads texts word by word, for the tools that are allowed."""

    def __init__(
        self, catalog: Catalog, embedder: Embedder | None, allowed: Allowed | None
    ) -> None:
        self._postings = catalog.postings
        self._embedder = embedder
        self._allowed = allowed

    def weigh(self, parts: Sequence[str], *, is_fit: bool) -> tuple[list[float], list[float]]:
        """Return how much of each text tools say; see `Reader`."""
        texts = [*map(_find_terms, parts)]
        rarity = self._postings.find_rarity
        unseen = self._postings.idf_unseen
        known = {term.term: rarity(term.term) for term in {*chain(*texts)}}
        said = []
        for terms in texts:
            total = sum(term.weight * (known[term.term] or unseen) for term in terms)
            of_tools = sum(term.weight * (known[term.term] or 0.0) for term in terms)
            said.append(of_tools / (total or 1.0))
        return said, self._postings.measure_shares(texts, self._allowed).tolist() if is_fit else []

    def embed(self, parts: Sequence[str]) -> tuple[Floats, list[float]]:
        """Return the vectors of texts, and how familiar each is; see `Reader`."""
        embedder = self._embedder
        if embedder is None:
            return np.zeros((len(parts), 1), np.float32), [0.0] * len(parts)
        texts = [*map(split_words, parts)]
        return embedder.encode_all(texts), [*map(embedder.familiarity, texts)]


def _find_terms(text: str) -> list[QueryTerm]:
    """Return the terms of the words of a text that tell."""
    return [term for word in dict.fromkeys(split_words(text)) for term in find_telling_terms(word)]
