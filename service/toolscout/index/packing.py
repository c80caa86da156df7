"""A compiled list on its way from one process to another.

Arrays travel beside the pickle; what every catalog of a process shares (domains, synonyms) stays
at home, and the vectors follow by themselves.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.index.bm25 import Postings
from toolscout.index.catalog import Catalog
from toolscout.index.compile import Compiler
from toolscout.index.facets import Allowed, Facets
from toolscout.index.lines import TextLines
from toolscout.index.names import NameIndex
from toolscout.index.okapi import Okapi
from toolscout.index.prerequisites import Prerequisites

SEED = hash("toolscout")
"""Tells whether two processes hash texts alike: a forked one does, another usually not."""


class Packed(msgspec.Struct, frozen=True):
    """A catalog without its vectors and without what processes have already."""

    digest: str
    names: tuple[str, ...]
    postings: Postings
    spellings: NameIndex
    lines: TextLines
    tokens: NDArray[np.int64]
    clues: Sequence[bytes]
    available: Allowed | None
    wires: tuple[bytes, ...]
    prerequisites: Prerequisites
    nbytes: int
    skipped: tuple[str, ...]
    terms: list[str] | None
    """In the order of their hashes, for a process that hashes otherwise."""


def pack(catalog: Catalog, seed: int = SEED) -> Packed:
    """Prepare a catalog for a process with this `SEED`."""
    catalog.prepare()
    terms = None if seed == SEED else sorted(catalog.postings.vocabulary.terms(), key=hash)
    return Packed(
        catalog.digest,
        catalog.names,
        catalog.postings,
        catalog.spellings,
        catalog.lines,
        catalog.tokens,
        catalog.facets.clues,
        catalog.facets.available,
        catalog.wires,
        catalog.prerequisites,
        catalog.nbytes,
        catalog.skipped,
        terms,
    )


def unpack(packed: Packed, compiler: Compiler) -> Catalog:
    """Return the catalog, as this process's own compiler would have made it."""
    if packed.terms is not None:
        packed.postings.rekey(packed.terms)
    return Catalog(
        digest=packed.digest,
        names=packed.names,
        rows={name: row for row, name in enumerate(packed.names)},
        postings=packed.postings,
        spellings=packed.spellings,
        lines=packed.lines,
        vectors=None,
        tokens=packed.tokens,
        facets=Facets(packed.wires, packed.clues, packed.available, compiler.taxonomy),
        wires=packed.wires,
        texts=Okapi(packed.wires),
        prerequisites=packed.prerequisites,
        taxonomy=compiler.taxonomy,
        synonyms=compiler.synonyms,
        nbytes=packed.nbytes,
        skipped=packed.skipped,
    )
