"""A compiled list on its way from one process to another.

What every catalog of a process shares (domains, synonyms) stays at home, what can be made anew in
no time too, and the vectors follow by themselves.
"""

import msgspec

from toolscout.index.catalog import Catalog
from toolscout.index.compile import Compiler
from toolscout.index.facets import Allowed, Facets
from toolscout.index.okapi import Okapi

SEED = hash("toolscout")
"""Tells whether two processes hash texts alike: a forked one does, another usually not."""


class Packed(msgspec.Struct, frozen=True):
    """A catalog without its vectors and without what processes have already."""

    catalog: Catalog
    clues: list[bytes]
    available: Allowed | None
    terms: list[str] | None
    """In the order of their hashes, for a process that hashes otherwise."""


def pack(catalog: Catalog, seed: int = SEED) -> Packed:
    """Prepare a catalog for a process with this `SEED`."""
    catalog.prepare()
    terms = None if seed == SEED else sorted(catalog.postings.vocabulary.terms(), key=hash)
    bare = msgspec.structs.replace(
        catalog, rows={}, facets=None, texts=None, taxonomy=None, synonyms=None
    )
    return Packed(bare, list(catalog.facets.clues), catalog.facets.available, terms)


def unpack(packed: Packed, compiler: Compiler) -> Catalog:
    """Return the catalog, as this process's own compiler would have made it."""
    catalog = packed.catalog
    if packed.terms is not None:
        catalog.postings.rekey(packed.terms)
    ranked = catalog.adjusted.list_wires(catalog.wires)
    return msgspec.structs.replace(
        catalog,
        rows={name: row for row, name in enumerate(catalog.names)},
        facets=Facets(ranked, packed.clues, packed.available, compiler.taxonomy),
        texts=Okapi(ranked),
        taxonomy=compiler.taxonomy,
        synonyms=compiler.synonyms,
    )
