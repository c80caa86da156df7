"""BM25 over fields, with postings compiled once per catalog.

Each posting carries its finished contribution (`weighing`), so a query is a handful of array
additions. The idf ln((N - df + 0.5) / (df + 0.5) + 1) is positive for every term, also in a catalog
of one.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.index.counts import FIELDS, Corpus, TermCounts, limit_rare
from toolscout.index.facets import Allowed
from toolscout.index.inverted import InvertedIndex, pack
from toolscout.index.weighing import Bm25Weights, weigh_postings
from toolscout.text.query import QueryTerm
from toolscout.text.tokens import analyse_word
from toolscout.text.typos import Vocabulary

Floats = NDArray[np.float32]
Shares = NDArray[np.float64]

TERM_BYTES = 90
"""About what Python needs for a term of the vocabulary."""

REMEMBERED_TERMS = 500
"""Look-ups of one catalog that are remembered."""

LOOK_UP_BYTES = 450
"""Approximate bytes of one look-up."""

_NAME = FIELDS.index("name")


class LexicalScores(msgspec.Struct, frozen=True, eq=False, gc=False):
    """BM25 of every tool, and how much of the query each has words for, both of shape (tools,).

    `covered` sums weight times idf of the matched terms; `total` is that sum over the whole
    query, words no tool has included; `rarest` is the idf of a word that no tool has.
    """

    bm25: Floats
    covered: NDArray[np.float64]
    total: float
    rarest: float
    plain: Floats
    """BM25 of every tool as one text, for every word of the query alike."""

    def times(self, factors: Floats | Allowed) -> "LexicalScores":
        """Return the scores of tools times factors, shape (tools,); what they cover stays."""
        bm25 = self.bm25 * factors
        plain = self.plain * factors
        return msgspec.structs.replace(self, bm25=bm25, plain=plain)


Posting = tuple[float, int, NDArray[np.int32], Floats, Floats]
"""A term of a catalog: its idf, the number of tools that have it, these, and its weights in each:
over fields, and over one text."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A term in a tool: the fields it stands in and how rare it is in the catalog."""

    fields: list[str]
    idf: float


class Postings:
    """BM25 over the tools of one catalog, in their order."""

    __slots__ = (
        "_bm25",
        "_found_in",
        "_idf",
        "_index",
        "_looked_up",
        "_plain",
        "_related",
        "_terms",
        "_total",
        "_vocabulary",
        "idf_unseen",
        "size",
        "weights",
    )

    def __init__(
        self,
        tools: Sequence[TermCounts],
        weights: Bm25Weights | None = None,
        corpus: Corpus | None = None,
    ) -> None:
        """Index tools; of a larger corpus if its frequencies tell how rare terms are."""
        self._bm25 = weights or Bm25Weights()
        self._vocabulary: Vocabulary | None = None
        index, self._terms = InvertedIndex.of(tools)
        self._weigh(index, corpus)

    def _weigh(self, index: InvertedIndex, corpus: Corpus | None = None) -> None:
        self._index = index
        self._related: dict[str, tuple[str, ...]] = {}
        self._looked_up: dict[str, Posting] = {}
        self.size = len(index.lengths)
        self._total = self.size if corpus is None else corpus.size
        frequency = index.frequencies
        found_in = frequency.copy()
        # Of thousands of terms the corpus has told the frequencies of a hundred.
        for term, count in ({} if corpus is None else corpus.frequencies).items():
            if (slot := index.slot(term)) is not None:
                found_in[slot] = max(found_in[slot], count)
        self._found_in = None if corpus is None else pack("q", found_in)
        idf = np.log((self._total - found_in + 0.5) / (found_in + 0.5) + 1.0)
        self._idf = pack("d", idf)
        self.idf_unseen = float(np.log((self._total + 0.5) / 0.5 + 1.0))
        self.weights, self._plain = weigh_postings(index, idf, self._bm25)

    def with_changes(
        self,
        moved: NDArray[np.int32],
        tools: Mapping[int, TermCounts],
        former: Iterable[TermCounts],
    ) -> "Postings":
        """Return the postings of the same tools but for a few; see `InvertedIndex`.

        `former` are those of the tools that are gone.
        """
        made = copy(self)
        made._weigh(self._index.with_changes(moved, tools))
        terms = {term for tool in tools.values() for term in tool.terms}
        new = [term for term in terms if self._index.slot(term) is None]
        terms = {term for tool in former for term in tool.terms}
        gone = [term for term in terms if made._index.slot(term) is None]
        made._vocabulary = self.vocabulary.with_changes(gone, new)
        return made

    @property
    def vocabulary(self) -> Vocabulary:
        """The terms of all tools; made when a query first has a word that no tool has."""
        return self._vocabulary or self.prepare()

    def prepare(self) -> Vocabulary:
        """Make the vocabulary, unless it is there: a millisecond for some 500 tools."""
        # Read first: a thread beside this one drops the terms once it has made the vocabulary.
        terms = self._terms
        made = self._vocabulary
        if made is None:
            made = self._vocabulary = Vocabulary(terms)
            self._terms = []
        return made

    def rekey(self, terms: Sequence[str]) -> None:
        """Take the hashes of this process; `terms` are in the order of those of another."""
        order, postings = self._index.rekey(terms)
        self._idf = pack("d", np.array(self._idf)[order])
        if self._found_in is not None:
            self._found_in = pack("q", np.array(self._found_in)[order])
        self.weights = self.weights[postings]
        self._plain = self._plain[postings]
        self._looked_up = {}

    def read_posting(self, term: str) -> Posting | None:
        """Return what is stored of a term; None for one that no tool has.

        Questions share most of their words, so the latest look-ups are remembered.
        """
        remembered = self._looked_up.get(term)
        if remembered is not None:
            return remembered
        slot = self._index.slot(term)
        if slot is None:  # there are ever new words that no tool has
            return None
        start, end = self._find_span(slot)
        rows = self._index.rows[start:end]
        weights = self.weights[start:end]
        posting = self._idf[slot], end - start, rows, weights, self._plain[start:end]
        if len(self._looked_up) >= REMEMBERED_TERMS:
            self._looked_up.clear()
        self._looked_up[term] = posting
        return posting

    def find_rarity(self, term: str) -> float | None:
        """Return the idf of a term; None for one that no tool has."""
        posting = self.read_posting(term)
        return None if posting is None else posting[0]

    def find_related(self, term: str, others: Iterable[str]) -> tuple[str, ...]:
        """Those of the terms related to a term that a tool has; the same ones every time."""
        present = self._related.get(term)
        if present is None:
            present = tuple(other for other in others if self._index.slot(other) is not None)
            self._related[term] = present
        return present

    def list_arrays(self) -> tuple[Any, ...]:
        """Return all that scoring takes, for code that reads the arrays where they are.

        The hashes of terms in order, where those with the same first bits begin, where the postings
        of each begin, its idf, the rows and both weights of postings, how far a hash is shifted,
        and the idf of a term that no tool has.
        """
        index = self._index
        keys = index.list_keys()
        return *keys[:3], self._idf, index.rows, self.weights, self._plain, keys[3], self.idf_unseen

    def score(self, query: Sequence[tuple[str, float, float | None]]) -> "LexicalScores":
        """Score every tool for terms with their weights.

        A term that only stands for another one of the query brings the worth that it covers of
        that one; the query as a whole weighs no more for it.
        """
        total = 0.0
        tools = []
        gains = []
        plain = []
        sizes = []
        weights = []
        worths = []
        plain_weights = []
        looked_up = self._looked_up
        for term, weight, worth in query:
            posting = looked_up.get(term) or self.read_posting(term)
            if posting is None:
                if worth is None:
                    total += weight * self.idf_unseen
                continue
            idf, size, rows, gain_of_rows, plain_of_rows = posting
            if worth is None:
                worth = weight * idf
                total += worth
                plain_weights.append((1.0 + weight) / 2.0)
            else:
                plain_weights.append(weight)
            tools.append(rows)
            gains.append(gain_of_rows)
            plain.append(plain_of_rows)
            sizes.append(size)
            weights.append(weight)
            worths.append(worth)
        if not tools:
            nothing = np.zeros(self.size, np.float64)
            none = nothing.astype(np.float32)
            return LexicalScores(none, nothing, total, self.idf_unseen, none)
        # In the types that bincount() takes, so that nothing is converted twice.
        hit = np.concatenate(tools, dtype=np.intp)
        of_terms = np.array((weights, worths, plain_weights))
        gain, worth_of_hit, plain_weight = of_terms.repeat(sizes, axis=1)
        gain *= np.concatenate(gains, dtype=np.float64)
        scores = np.bincount(hit, gain, self.size)
        covered = np.bincount(hit, worth_of_hit, self.size).astype(np.float64, copy=False)
        in_one_text = np.bincount(
            hit, plain_weight.astype(np.float32) * np.concatenate(plain), self.size
        ).astype(np.float32)
        return LexicalScores(
            scores.astype(np.float32), covered, total, self.idf_unseen, in_one_text
        )

    def measure_shares(
        self, texts: Sequence[Sequence[QueryTerm]], allowed: Allowed | None
    ) -> Shares:
        """Return the largest share of each text's weight that a tool has terms for, 0 to 1.

        Shape (texts,). Only the tools are looked at that are `allowed`, if that is given.
        """
        totals = np.zeros(len(texts), np.float64)
        tools = []
        places = []
        sizes = []
        worths = []
        every = {term.term for text in texts for term in text}
        found = {term: self.read_posting(term) for term in every}
        for number, text in enumerate(texts):
            for term in text:
                posting = found[term.term]
                if posting is None:
                    totals[number] += term.weight * self.idf_unseen
                    continue
                idf, size, rows, *_ = posting
                totals[number] += term.weight * idf
                tools.append(rows)
                places.append(number * self.size)
                sizes.append(size)
                worths.append(term.weight * idf)
        if not tools:
            return totals * 0.0
        hit = np.concatenate(tools, dtype=np.intp) + np.repeat(places, sizes)
        covered = np.bincount(hit, np.repeat(worths, sizes), len(texts) * self.size)
        of_tools = covered.reshape(len(texts), self.size)
        rows_allowed = slice(None) if allowed is None else allowed
        most: Shares = of_tools[:, rows_allowed].max(axis=1, initial=0.0)
        return np.divide(most, totals, out=most, where=totals > 0)

    def is_rare(self, word: str) -> bool:
        """Whether hardly any tool uses a word: one in a hundred, or two."""
        slot = self._index.slot(analyse_word(word)[-1])
        return slot is None or self._count_tools(slot) <= limit_rare(self._total)

    def find_named_rows(self, term: str, *, is_rare: bool = False) -> NDArray[np.int32]:
        """Return the tools with a term, or with a rare one, in name or namespace."""
        slot = self._index.slot(term)
        if slot is None or (is_rare and self._count_tools(slot) > limit_rare(self._total)):
            return np.zeros(0, np.int32)
        start, end = self._find_span(slot)
        rows: NDArray[np.int32] = self._index.rows[start:end]
        return rows[self._index.counts[start:end, _NAME] > 0]

    def _count_tools(self, slot: int) -> int:
        """Return how many tools have a term, of the whole corpus."""
        start, end = self._find_span(slot)
        return end - start if self._found_in is None else int(self._found_in[slot])

    def _find_span(self, slot: int) -> tuple[int, int]:
        """Return where the postings of a term begin and end."""
        starts = self._index.starts
        return starts[slot], starts[slot + 1]

    def find(self, term: str, tool: int) -> "Hit | None":
        """Where a tool has a term, or None."""
        slot = self._index.slot(term)
        if slot is None:
            return None
        start, end = self._find_span(slot)
        rows = self._index.rows
        counts = self._index.counts
        at = start + int(np.searchsorted(rows[start:end], tool))
        if at >= end or rows[at] != tool:
            return None
        fields = [name for name, count in zip(FIELDS, counts[at], strict=True) if count]
        return Hit(fields, self._idf[slot])

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        return (
            self._index.nbytes
            + self.weights.nbytes
            + self._plain.nbytes
            + self._idf.itemsize * len(self._idf)
            + TERM_BYTES * len(self._idf)
            + LOOK_UP_BYTES * min(REMEMBERED_TERMS, len(self._idf))
        )
