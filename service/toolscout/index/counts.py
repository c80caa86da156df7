"""How often a tool has each of its terms, in a form that indexes are joined from."""

from collections.abc import Mapping, Sequence
from struct import pack
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

FIELDS = ("name", "description", "properties")
"""The fields of a tool that are counted apart."""

_UNITS = (1, 1 << 16, 1 << 32)
"""One occurrence in each field, packed into one integer: 16 bits a field."""


Counts = NDArray[np.uint8]
"""How often a posting's term stands in each field, shape (postings, fields)."""

MOST_COUNTED = 255
"""Occurrences in one field that count; a few already saturate."""


class Corpus(NamedTuple):
    """The tools that an index has only some of."""

    size: int
    frequencies: Mapping[str, int]
    """How many tools have a term, of the terms that a question asks for."""


class TermCounts(msgspec.Struct, frozen=True, gc=False):
    """The terms of one tool in order of first use, with `counts` as packed int64.

    Bytes, because an index joins those of thousands of tools, and joining bytes is what Python
    does fastest.
    """

    terms: tuple[str, ...]
    counts: bytes
    lengths: tuple[int, int, int]

    @classmethod
    def of(cls, fields: Sequence[Sequence[str]]) -> "TermCounts":
        """Count the terms of each field (given in the order of `FIELDS`)."""
        packed: dict[str, int] = {}
        count = packed.get
        for unit, field in zip(_UNITS, fields, strict=True):
            for term in field:
                packed[term] = count(term, 0) + unit
        return cls(
            terms=tuple(packed),
            counts=pack(f"{len(packed)}q", *packed.values()),
            lengths=(len(fields[0]), len(fields[1]), len(fields[2])),
        )


def unpack_counts(packed: bytes) -> Counts:
    """Return the counts of joined `TermCounts.counts`."""
    counts = np.frombuffer(packed, np.uint16).reshape(-1, 4)[:, : len(FIELDS)]
    return np.minimum(counts, MOST_COUNTED).astype(np.uint8)


def limit_rare(size: int) -> int:
    """How many of `size` tools a rare word may be in: one in a hundred, or two."""
    return max(2, size // 100)
