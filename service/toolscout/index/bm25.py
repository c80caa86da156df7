"""BM25 over fields, with postings compiled once per catalog.

Each posting carries its finished contribution, so a query is a handful of array additions.
The formula is BM25F (Zaragoza et al., TREC 2004): every field has its own weight and length
normalisation, the weighted frequencies are summed and then saturated once. The idf
ln((N - df + 0.5) / (df + 0.5) + 1) is positive for every term, also in a catalog of one.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.index.counts import FIELDS, Corpus, TermCounts, fields_of, weighted_frequency
from toolscout.text.tokens import word_terms
from toolscout.text.typos import Vocabulary

Floats = NDArray[np.float32]

TERM_BYTES = 90
"""About what Python needs for a term of the vocabulary."""

REMEMBERED_TERMS, LOOK_UP_BYTES = 500, 450
"""Look-ups of one catalog that are remembered, and about what each takes."""

_IN_NAME = 1 << FIELDS.index("name")


@dataclass(frozen=True, slots=True)
class Bm25Weights:
    """The free numbers of the formula; the defaults were chosen on the development sets."""

    k1: float = 1.2
    field: tuple[float, float, float] = (2.5, 1.0, 0.3)
    """How much one occurrence counts in name, description and property text."""
    b: tuple[float, float, float] = (0.75, 0.75, 0.75)
    """How strongly each field's length discounts it: 0 not at all, 1 fully."""


class LexicalScores(msgspec.Struct, frozen=True, eq=False):
    """BM25 of every tool, and how much of the query each has words for, both of shape (tools,).

    `covered` sums weight times idf of the matched terms; `total` is that sum over the whole
    query, words no tool has included; `rarest` is the idf of a word that no tool has.
    """

    bm25: Floats
    covered: NDArray[np.float64]
    total: float
    rarest: float


def rare_limit(size: int) -> int:
    """How many of `size` tools a rare word may be in: one in a hundred, or two."""
    return max(2, size // 100)


Posting = tuple[float, int, NDArray[np.int32], Floats]
"""A term of a catalog: its idf, the number of tools that have it, these, and its weight in each."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A term in a tool: the fields it stands in and how rare it is in the catalog."""

    fields: list[str]
    idf: float


class Postings:
    """An inverted index over the tools of one catalog, in their order.

    Terms are known by their process-wide string hash, so per-tool counts from different
    times join without a shared dictionary.
    """

    __slots__ = (
        "_found_in",
        "_idf",
        "_is_first",
        "_keys",
        "_looked_up",
        "_related",
        "_shift",
        "_starts",
        "_table",
        "_terms",
        "_total",
        "_vocabulary",
        "fields",
        "idf_unseen",
        "size",
        "tools",
        "weights",
    )

    def __init__(
        self,
        tools: Sequence[TermCounts],
        weights: Bm25Weights | None = None,
        corpus: Corpus | None = None,
    ) -> None:
        """Index tools; of a larger corpus if its frequencies tell how rare terms are."""
        weights = weights or Bm25Weights()
        self.size = len(tools)
        self._total = self.size if corpus is None else corpus.size
        self._terms = [tool.terms for tool in tools]
        self._vocabulary: Vocabulary | None = None
        self._related: dict[str, tuple[str, ...]] = {}
        self._looked_up: dict[str, Posting] = {}
        spread = chain.from_iterable([tool.lengths for tool in tools])
        lengths = np.fromiter(spread, np.float64, 3 * self.size).reshape(-1, len(FIELDS))
        sizes = np.fromiter(map(len, self._terms), np.int64, self.size)
        hashes = np.frombuffer(b"".join([tool.hashes for tool in tools]), np.int64)
        # A stable sort keeps the tools of one term in order; equal neighbours are one posting list.
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        del hashes  # of words that nobody used before there are millions: 8 bytes each, every time
        begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        begins = begins[: len(ordered)]
        is_first = np.zeros(len(order), np.uint8)
        is_first[order[begins]] = 1
        self._is_first = is_first.tobytes()
        keys = ordered[begins]
        bounds = np.append(begins, len(ordered))
        del ordered, begins
        self._shift, self._table = _table(keys)
        self._keys = _array("q", keys)
        frequency = np.diff(bounds)
        self._starts = _array("q", bounds)
        found_in = frequency.copy()
        # Of thousands of terms the corpus has told the frequencies of a hundred.
        for term, count in ({} if corpus is None else corpus.frequencies).items():
            if (slot := self._slot(term)) is not None:
                found_in[slot] = max(found_in[slot], count)
        self._found_in = None if corpus is None else _array("q", found_in)
        idf = np.log((self._total - found_in + 0.5) / (found_in + 0.5) + 1.0)
        self._idf = _array("d", idf)
        self.idf_unseen = float(np.log((self._total + 0.5) / 0.5 + 1.0))
        del keys, bounds
        self.tools = np.repeat(np.arange(self.size, dtype=np.int32), sizes)[order]
        packed = np.frombuffer(b"".join([tool.counts for tool in tools]), np.uint16)
        counts = packed.reshape(-1, 4)[:, : len(FIELDS)]
        self.fields = fields_of(counts)[order]
        tf = weighted_frequency(counts, sizes, lengths, weights.field, weights.b)[order]
        del packed, counts, order
        gain = np.repeat(idf, frequency)
        gain *= tf
        gain *= weights.k1 + 1.0
        tf += weights.k1
        gain /= tf
        self.weights = gain.astype(np.float32)

    @property
    def vocabulary(self) -> Vocabulary:
        """The terms of all tools; made when a query first has a word that no tool has."""
        return self._vocabulary or self.prepare()

    def prepare(self) -> Vocabulary:
        """Make the vocabulary, unless it is there: a millisecond for some 500 tools."""
        # Read first: a thread beside this one drops the terms once it has made the vocabulary.
        terms, made = self._terms, self._vocabulary
        if made is None:
            made = self._vocabulary = Vocabulary(_distinct(terms, self._is_first))
            self._terms, self._is_first = [], b""
        return made

    def rekey(self, terms: Sequence[str]) -> None:
        """Take the hashes of this process; `terms` are in the order of those of another."""
        keys = np.fromiter(map(hash, terms), np.int64, len(terms))
        order = np.argsort(keys)
        starts = np.array(self._starts, np.int64)
        sizes = np.diff(starts)[order]
        bounds = np.append(0, np.cumsum(sizes))
        postings = np.repeat(starts[order] - bounds[:-1], sizes) + np.arange(bounds[-1])
        self._shift, self._table = _table(keys[order])
        self._keys, self._starts = _array("q", keys[order]), _array("q", bounds)
        self._idf = _array("d", np.array(self._idf)[order])
        if self._found_in is not None:
            self._found_in = _array("q", np.array(self._found_in)[order])
        self.tools, self.fields = self.tools[postings], self.fields[postings]
        self.weights = self.weights[postings]
        self._looked_up = {}

    def _slot(self, term: str) -> int | None:
        """Where a term stands in the arrays; None for one that no tool has.

        The keys are in order, and the table says where those with the same first bits begin: one
        or two of them. A dictionary would be a little faster, and take ten times the memory.
        """
        key = hash(term)
        table, keys = self._table, self._keys
        bucket = (key >> self._shift) + (len(table) >> 1)
        at, end = table[bucket], table[bucket + 1]
        while at < end:
            if keys[at] == key:
                return at
            at += 1
        return None

    def posting(self, term: str) -> Posting | None:
        """Return what is stored of a term; None for one that no tool has.

        Questions share most of their words, so the latest look-ups are remembered.
        """
        known = self._looked_up.get(term)
        if known is not None:
            return known
        slot = self._slot(term)
        if slot is None:  # there are ever new words that no tool has
            return None
        start, end = self._starts[slot], self._starts[slot + 1]
        found = self._idf[slot], end - start, self.tools[start:end], self.weights[start:end]
        if len(self._looked_up) >= REMEMBERED_TERMS:
            self._looked_up.clear()
        self._looked_up[term] = found
        return found

    def rarity(self, term: str) -> float | None:
        """Return the idf of a term; None for one that no tool has."""
        found = self.posting(term)
        return None if found is None else found[0]

    def known(self, term: str, others: Iterable[str]) -> tuple[str, ...]:
        """Those of the terms related to a term that a tool has; the same ones every time."""
        found = self._related.get(term)
        if found is None:
            found = tuple(other for other in others if self._slot(other) is not None)
            self._related[term] = found
        return found

    def score(self, query: Sequence[tuple[str, float, float | None]]) -> "LexicalScores":
        """Score every tool for terms with their weights.

        A term that only stands for another one of the query brings the worth that it covers of
        that one; the query as a whole weighs no more for it.
        """
        total = 0.0
        tools, gains, sizes, weights, worths = [], [], [], [], []
        looked_up = self._looked_up
        for term, weight, worth in query:
            found = looked_up.get(term) or self.posting(term)
            if found is None:
                if worth is None:
                    total += weight * self.idf_unseen
                continue
            idf, size, rows, gain_of_rows = found
            if worth is None:
                worth = weight * idf
                total += worth
            tools.append(rows)
            gains.append(gain_of_rows)
            sizes.append(size)
            weights.append(weight)
            worths.append(worth)
        if not tools:
            nothing = np.zeros(self.size, np.float64)
            return LexicalScores(nothing.astype(np.float32), nothing, total, self.idf_unseen)
        # In the types that bincount() takes, so that nothing is converted twice.
        hit = np.concatenate(tools, dtype=np.intp)
        gain, worth_of_hit = np.array((weights, worths)).repeat(sizes, axis=1)
        gain *= np.concatenate(gains, dtype=np.float64)
        scores = np.bincount(hit, gain, self.size)
        covered = np.bincount(hit, worth_of_hit, self.size).astype(np.float64, copy=False)
        return LexicalScores(scores.astype(np.float32), covered, total, self.idf_unseen)

    def is_rare(self, word: str) -> bool:
        """Whether hardly any tool uses a word: one in a hundred, or two."""
        slot = self._slot(word_terms(word)[-1])
        return slot is None or self._frequency(slot) <= rare_limit(self._total)

    def rows_named(self, term: str, *, is_rare: bool = False) -> NDArray[np.int32]:
        """Return the tools with a term, or with a rare one, in name or namespace."""
        slot = self._slot(term)
        if slot is None or (is_rare and self._frequency(slot) > rare_limit(self._total)):
            return np.zeros(0, np.int32)
        start, end = self._starts[slot], self._starts[slot + 1]
        rows: NDArray[np.int32] = self.tools[start:end][self.fields[start:end] & _IN_NAME > 0]
        return rows

    def _frequency(self, slot: int) -> int:
        """Return how many tools have a term, of the whole corpus."""
        found: int = self._starts[slot + 1] - self._starts[slot]
        return found if self._found_in is None else int(self._found_in[slot])

    def find(self, term: str, tool: int) -> "Hit | None":
        """Where a tool has a term, or None."""
        slot = self._slot(term)
        if slot is None:
            return None
        start, end = self._starts[slot], self._starts[slot + 1]
        at = start + int(np.searchsorted(self.tools[start:end], tool))
        if at >= end or self.tools[at] != tool:
            return None
        fields = [name for bit, name in enumerate(FIELDS) if self.fields[at] >> bit & 1]
        return Hit(fields, self._idf[slot])

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        arrays = (self.tools, self.weights, self.fields)
        held = (self._keys, self._starts, self._idf, self._table)
        return (
            sum(each.nbytes for each in arrays)
            + sum(each.itemsize * len(each) for each in held)
            + TERM_BYTES * len(self._idf)
            + LOOK_UP_BYTES * min(REMEMBERED_TERMS, len(self._idf))
        )


def _table(keys: NDArray[np.int64]) -> "tuple[int, array[int]]":
    """Find where keys begin that have the same first bits, with a bit or so for each key.

    The first number says how far a key is shifted; that of key 0 is in the middle of the table.
    """
    bits = max(1, len(keys).bit_length())
    buckets = (keys >> (64 - bits)) + (1 << bits - 1)
    ends = np.cumsum(np.bincount(buckets, minlength=1 << bits), dtype=np.int32)
    return 64 - bits, _array("i", np.append(np.int32(0), ends))


def _array(code: str, values: NDArray[Any]) -> "array[Any]":
    """Return the same numbers where reading one is as cheap as from a list, at their own size."""
    made = array(code)
    made.frombytes(values.data.cast("B"))
    return made


def _distinct(terms: Sequence[Sequence[str]], is_first: bytes) -> Iterator[str]:
    """Each term once: where it stands first, by a mask over the terms of all tools."""
    start = 0
    for found in terms:
        yield from compress(found, is_first[start : start + len(found)])
        start += len(found)
