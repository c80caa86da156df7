"""Find the sentences of a long request that ask for a tool, wherever they stand.

A vector of hundreds of words is near to nothing, and of a request with its history two sentences
say which tools are wanted: those that ask, and that some tool fits.
"""

from itertools import chain

import numpy as np
from numpy.typing import NDArray

from toolscout.index.catalog import Catalog
from toolscout.index.embedder import Embedder
from toolscout.index.facets import Allowed
from toolscout.index.source import Source
from toolscout.text.passages import asks, latest_asking, sentences
from toolscout.text.query import telling_terms_of
from toolscout.text.tokens import words

LONG_CHARS = 320
"""Characters of a request from which its sentences are compared with the tools."""

LEAST_SENTENCES = 5
"""Sentences from which they are."""

MOST_PAIRS = 300_000
"""Sentences times tools that are compared. Of a longer text the sentences that ask are, and the
latest."""

MOST_EMBEDDED = 48
"""Sentences that are compared by meaning: those that are best by asking and words."""

MOST_KEPT = 4
"""Sentences that are ranked by, beside the last one."""

ASKING = 0.3
"""What it counts that a sentence asks, beside the cosine of the tool that fits it best."""

IN_WORDS = 0.15
"""What it counts that a tool has all words of a sentence, by their rarity."""

NEAR_BEST = 0.75
"""What a sentence is worth at least, as a share of the best one. With .85 the second wish of a
request is lost more often, with .65 long ones are ranked by talk, too."""

Fits = NDArray[np.float64]


def asking_sentences(
    text: str, source: Source, embedder: Embedder | None, allowed: Allowed | None = None
) -> str:
    """Return the sentences of a text that ask, and that some tool fits; all of a short text.

    The last one is among them where it asks, or where none does.
    """
    parts = sentences(text) if len(text) > LONG_CHARS else []
    if len(parts) < LEAST_SENTENCES or not len(source) or not isinstance(source, Catalog):
        return text
    most = max(MOST_KEPT, MOST_PAIRS // len(source))
    if len(parts) > most:
        parts = [parts[at] for at in sorted(latest_asking(parts)[:most])]
    asking = np.array([asks(part) for part in parts])
    fits = _fits(parts, ASKING * asking, source, embedder, allowed)
    best = [int(at) for at in np.argsort(-fits, kind="stable")[:MOST_KEPT]]
    kept = {at for at in best if fits[at] >= NEAR_BEST * fits[best[0]]}
    if asking[-1] or not asking.any():
        kept.add(len(parts) - 1)
    return " ".join(parts[at] for at in sorted(kept))


def _fits(
    parts: list[str],
    worths: Fits,
    catalog: Catalog,
    embedder: Embedder | None,
    allowed: Allowed | None,
) -> Fits:
    """Return what each sentence is worth, and how well the best tool fits it."""
    said = [words(part) for part in parts]
    telling = [list(chain.from_iterable(map(telling_terms_of, set(one)))) for one in said]
    fits = worths + IN_WORDS * catalog.postings.shares(telling, allowed)
    if embedder is not None and catalog.vectors is not None:
        some = np.argsort(-fits, kind="stable")[:MOST_EMBEDDED]
        vectors = [embedder.encode(said[at]) for at in some]
        rows = slice(None) if allowed is None else allowed
        for at, cosine in zip(some, catalog.vectors.products(vectors), strict=True):
            fits[at] += cosine[rows].max(initial=0.0)
    return fits
