"""An inverted index: which tools have a term, and how often in each field.

Terms are known by their process-wide string hash, so per-tool counts from different times join
without a shared dictionary.
"""

from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolscout.index.counts import FIELDS, Counts, TermCounts, unpack_counts


class InvertedIndex:
    """The postings of a catalog's tools, by the hashes of terms and then by row."""

    __slots__ = ("_keys", "_shift", "_table", "counts", "lengths", "rows", "starts")

    def __init__(
        self,
        keys: NDArray[np.int64],
        bounds: NDArray[np.int64],
        rows: NDArray[np.int32],
        counts: Counts,
        lengths: NDArray[np.int32],
    ) -> None:
        """Take hashes of terms in order, postings in that order, and each tool's terms per field.

        `bounds` are where the postings of each term begin, and where those of the last end.
        """
        self.rows = rows
        self.counts = counts
        self.lengths = lengths
        self._set_keys(keys, bounds)

    @classmethod
    def of(cls, tools: Sequence[TermCounts]) -> "tuple[InvertedIndex, list[str]]":
        """Index tools; also return their terms, in the order of the hashes."""
        spread = chain.from_iterable([tool.lengths for tool in tools])
        lengths = np.fromiter(spread, np.int32, 3 * len(tools)).reshape(-1, len(FIELDS))
        rows, hashes, counts = _join_postings(tools, range(len(tools)))
        # A stable sort keeps the tools of one term in order.
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        begins = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
        begins = begins[: len(hashes)]
        bounds = np.append(begins, len(hashes))
        index = cls(hashes[begins], bounds, rows[order], counts[order], lengths)
        every = list(chain.from_iterable([tool.terms for tool in tools]))
        return index, [every[at] for at in order[index.starts[:-1]].tolist()]

    def with_changes(
        self, moved: NDArray[np.int32], tools: Mapping[int, TermCounts]
    ) -> "InvertedIndex":
        """Return the index of the same tools but for a few.

        Args:
            moved: the new row of each tool, -1 for one that is gone; shape (tools,).
            tools: those that are new, by row.
        """
        rows = moved[self.rows]
        gone = np.flatnonzero(rows < 0)
        rows = np.delete(rows, gone)
        counts = np.delete(self.counts, gone, axis=0)
        new_rows, new_hashes, new_counts = _join_postings([*tools.values()], [*tools])
        order = np.lexsort((new_rows, new_hashes))
        new_rows = new_rows[order]
        new_hashes = new_hashes[order]
        keys = self.keys
        sizes = self.frequencies
        np.subtract.at(sizes, np.searchsorted(self.starts, gone, "right") - 1, 1)
        terms = chain.from_iterable(tool.terms for tool in tools.values())
        unknown = sorted({hash(term) for term in terms if self.slot(term) is None})
        at = np.searchsorted(keys, unknown)
        keys = np.insert(keys, at, unknown)
        sizes = np.insert(sizes, at, 0)
        bounds = np.append(0, np.cumsum(sizes))
        slots = np.searchsorted(keys, new_hashes)
        places = [
            start + np.searchsorted(rows[start:end], row)
            for start, end, row in zip(bounds[slots], bounds[slots + 1], new_rows, strict=True)
        ]
        np.add.at(sizes, slots, 1)
        used = sizes > 0
        stay = moved >= 0
        lengths = np.zeros((np.count_nonzero(stay) + len(tools), len(FIELDS)), np.int32)
        lengths[moved[stay]] = self.lengths[stay]
        for row, tool in tools.items():
            lengths[row] = tool.lengths
        return InvertedIndex(
            keys[used],
            np.append(0, np.cumsum(sizes[used])),
            np.insert(rows, places, new_rows),
            np.insert(counts, places, new_counts[order], axis=0),
            lengths,
        )

    def list_keys(self) -> tuple[Any, Any, Any, int]:
        """Return the hashes, the table of `slot`, where postings begin, and the shift."""
        return self._keys, self._table, self.starts, self._shift

    @property
    def keys(self) -> NDArray[np.int64]:
        """The hashes of all terms, in order."""
        return np.array(self._keys, np.int64)

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """How many tools have each term."""
        starts = np.array(self.starts, np.int64)
        return starts[1:] - starts[:-1]

    def slot(self, term: str) -> int | None:
        """Return the place of a term; None for one that no tool has.

        The keys are in order, and the table says where those with the same first bits begin: one
        or two of them. A dictionary would be a little faster, and take ten times the memory.
        """
        key = hash(term)
        table = self._table
        keys = self._keys
        bucket = (key >> self._shift) + (len(table) >> 1)
        at = table[bucket]
        end = table[bucket + 1]
        while at < end:
            if keys[at] == key:
                return at
            at += 1
        return None

    def rekey(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Take the hashes of this process; `terms` are in the order of those of another.

        Return the former places of the terms, and of the postings.
        """
        keys = np.fromiter(map(hash, terms), np.int64, len(terms))
        order = np.argsort(keys)
        sizes = self.frequencies[order]
        bounds = np.append(0, np.cumsum(sizes))
        starts = np.array(self.starts, np.int64)[order]
        postings = np.repeat(starts - bounds[:-1], sizes) + np.arange(bounds[-1])
        self._set_keys(keys[order], bounds)
        self.rows = self.rows[postings]
        self.counts = self.counts[postings]
        return order, postings

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        arrays = (self.rows, self.counts, self.lengths)
        held = (self._keys, self.starts, self._table)
        return sum(each.nbytes for each in arrays) + sum(e.itemsize * len(e) for e in held)

    def _set_keys(self, keys: NDArray[np.int64], bounds: NDArray[np.int64]) -> None:
        self._keys = pack("q", keys)
        self.starts = pack("q", bounds)
        self._shift, self._table = _make_table(keys)


def pack(code: str, values: NDArray[Any]) -> "array[Any]":
    """Return the same numbers where reading one is as cheap as from a list, at their own size."""
    made = array(code)
    made.frombytes(values.data.cast("B"))
    return made


def _join_postings(
    tools: Sequence[TermCounts], rows: Sequence[int]
) -> tuple[NDArray[np.int32], NDArray[np.int64], Counts]:
    """Return the row, hash and counts of each posting of tools in these rows."""
    sizes = np.fromiter((len(tool.terms) for tool in tools), np.int64, len(tools))
    every = chain.from_iterable([tool.terms for tool in tools])
    hashes = np.fromiter(map(hash, every), np.int64, int(sizes.sum()))
    counts = unpack_counts(b"".join([tool.counts for tool in tools]))
    return np.repeat(np.array(rows, np.int32), sizes), hashes, counts


def _make_table(keys: NDArray[np.int64]) -> "tuple[int, array[int]]":
    """Find where keys begin that have the same first bits, with a bit or so for each key.

    The first number says how far a key is shifted; that of key 0 is in the middle of the table.
    """
    bits = max(1, len(keys).bit_length())
    buckets = (keys >> (64 - bits)) + (1 << bits - 1)
    ends = np.cumsum(np.bincount(buckets, minlength=1 << bits), dtype=np.int32)
    return 64 - bits, pack("i", np.append(np.int32(0), ends))
