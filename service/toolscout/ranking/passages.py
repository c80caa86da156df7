"""Find the sentences of a long request that ask for a tool, wherever they stand.

A vector of hundreds of words is near to nothing, and of a request with its history two sentences
say which tools are wanted: those that ask, and that some tool fits.
"""

from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolscout.index.catalog import Catalog
from toolscout.index.embedder import Embedder
from toolscout.index.facets import Allowed
from toolscout.index.source import Source
from toolscout.text.passages import find_asking_part, is_asking, split_sentences
from toolscout.text.query import QueryTerm, find_telling_terms
from toolscout.text.tokens import split_words

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

Fits = NDArray[np.float64]


def find_asking_sentences(
    text: str, source: Source, embedder: Embedder | None, allowed: Allowed | None = None
) -> str:
    """Return the sentences of a text that ask, and that some tool fits; all of a short text.

    The last one is among them where it asks, or where none does.
    """
    if not len(source) or not isinstance(source, Catalog):
        return find_asking_part(text)
    said = split_sentences(text) if len(text) > LONG_CHARS else []
    if len(said) < LEAST_SENTENCES:
        return text
    parts = [*dict.fromkeys(said)]  # one that is repeated takes one place
    last = parts.index(said[-1])
    read = _read(parts, source)
    most = max(MOST_KEPT, min(MOST_COMPARED, MOST_PAIRS // len(source)))
    read = sorted(read, key=lambda one: -one.worth)[:most]
    fits = _measure_fit(read, source, embedder, allowed)
    best = [int(place) for place in np.argsort(-fits, kind="stable")[:MOST_KEPT]]
    kept = {read[place].at for place in best if fits[place] >= NEAR_BEST * fits[best[0]]}
    if is_asking(parts[last]) or not any(map(is_asking, parts)):
        kept.add(last)
    return " ".join(parts[at] for at in sorted(kept))


class _Sentence(NamedTuple):
    """A sentence of a request."""

    at: int
    said: list[str]
    terms: list[QueryTerm]
    """Those of its words that tell."""
    asking: float
    worth: float
    """What it is worth before it is compared with each tool."""


def _read(parts: list[str], catalog: Catalog) -> list[_Sentence]:
    """Read each sentence, and count how much of it any tool says."""
    said = [split_words(part) for part in parts]
    terms_of = {word: find_telling_terms(word) for word in {*chain(*said)}}
    rarity = catalog.postings.find_rarity
    unseen = catalog.postings.idf_unseen
    known = {term.term: rarity(term.term) for terms in terms_of.values() for term in terms}
    read = []
    for at, (part, found) in enumerate(zip(parts, said, strict=True)):
        terms = [term for word in dict.fromkeys(found) for term in terms_of[word]]
        total = sum(term.weight * (known[term.term] or unseen) for term in terms)
        of_tools = sum(term.weight * (known[term.term] or 0.0) for term in terms)
        asking = ASKING * is_asking(part)
        read.append(_Sentence(at, found, terms, asking, asking + of_tools / (total or 1.0)))
    return read


def _measure_fit(
    read: list[_Sentence], catalog: Catalog, embedder: Embedder | None, allowed: Allowed | None
) -> Fits:
    """Return how well the best tool fits each sentence, and whether it asks."""
    shares = catalog.postings.measure_shares([one.terms for one in read], allowed)
    fits: Fits = IN_WORDS * shares + np.array([one.asking for one in read])
    if embedder is not None and catalog.vectors is not None:
        rows = slice(None) if allowed is None else allowed
        cosines = catalog.vectors.products([embedder.encode(one.said) for one in read])
        fits += [cosine[rows].max(initial=0.0) for cosine in cosines]
    return fits
