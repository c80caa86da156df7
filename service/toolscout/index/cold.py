"""A tool list that is not indexed yet: it answers by whole words in names and descriptions.

This is the last rung of the ladder, for tools that were never seen before and are too many to
compile within the budget. One RE2 scan over all texts finds the few places that matter, so ten
thousand tools take tens of milliseconds.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import log
from typing import Any

import numpy as np
import re2
from numpy.typing import NDArray

from toolscout.contract.requests import Filters
from toolscout.contract.tools import Tool
from toolscout.index import facets
from toolscout.index.adjusted import adjust_tools
from toolscout.index.bm25 import Hit, LexicalScores
from toolscout.index.counts import limit_rare
from toolscout.index.facets import Allowed
from toolscout.index.names import Mention, add_whole_name, find_mentions
from toolscout.index.tool_list import ToolList
from toolscout.text import domains
from toolscout.text.domains import Taxonomy
from toolscout.text.passages import find_asking_part
from toolscout.text.query import STOP_WEIGHT, Query, analyse, load_telling_terms
from toolscout.text.tokens import analyse_terms, analyse_word, fold, is_cjk
from toolscout.tools.overlay import NO_ROWS, TenantOverlay
from toolscout.tools.summary import estimate_tool_tokens
from toolscout.tools.traits import Traits, read_traits

NAME_WEIGHT = 2.5
"""A word in the name says more than one in the description."""

MAX_WORDS = 32
"""Distinct words that are scanned for; a longer pattern is prose that a few words decide."""

MAX_TEXT = 600
"""Characters of a description that are scanned."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDING = r"(?:s|es|d|ed|ing|er|r)?"
_OPTIONS = re2.Options()
_OPTIONS.case_sensitive = False
_OPTIONS.log_errors = False
_OPTIONS.never_capture = True
_OPTIONS.max_mem = 8 << 20


class KeywordScores(LexicalScores, frozen=True, eq=False):
    """Scores of whole words."""

    named: NDArray[np.bool_]
    """Whether a telling word of the query is in a tool's name, shape (tools,)."""


def score_keywords(
    query: Query, names: Sequence[str], descriptions: Sequence[str]
) -> KeywordScores:
    """Score tools by rarity of the query's words in them; a word in the name counts more."""
    named = np.zeros(len(names), np.bool_)
    scores = np.zeros(len(names), np.float32)
    covered = np.zeros(len(names), np.float64)
    worths = _stem_worths(query)
    rarest = log(len(names) / 0.5 + 2.0)
    if not worths or not names:
        return KeywordScores(scores, covered, 0.0, rarest, scores, named)
    spoken = [_speak(name) for name in names]
    expression = re2.compile(_write_expression(worths).encode(), _OPTIONS)
    weights = {stem: np.zeros(len(names), np.float32) for stem in worths}
    stems: dict[bytes, str | None] = {}
    for texts, weight in ((descriptions, 1.0), (spoken, NAME_WEIGHT)):
        buffer, ends = _join_texts(texts)
        places: dict[str, list[int]] = {stem: [] for stem in worths}
        for match in expression.finditer(buffer):
            start, end = match.span()
            written = buffer[start:end]
            if written not in stems:
                stems[written] = _stem(written.decode("utf-8", "replace"), worths)
            stem = stems[written]
            if stem is not None:
                places[stem].append(start)
        for stem, starts in places.items():
            weights[stem][np.searchsorted(ends, starts, side="right")] = weight
    total = 0.0
    telling = set(load_telling_terms(query))
    for stem, worth in worths.items():
        has_stem = weights[stem] > 0
        count = int(has_stem.sum())
        rarity = worth * log((len(names) - count + 0.5) / (count + 0.5) + 1.0)
        total += rarity
        scores += np.float32(rarity) * weights[stem]
        covered += rarity * has_stem
        if stem in telling and count <= limit_rare(len(names)):
            named |= weights[stem] == NAME_WEIGHT
    return KeywordScores(scores, covered, total, rarest, scores, named)


def _stem_worths(query: Query) -> dict[str, float]:
    """Stems to look for with their weights, heaviest first.

    Stop words stand everywhere and decide nothing; they are left out beside content words.
    """
    heaviest = max((term.weight for term in query.terms), default=0.0)
    ranked = sorted(query.terms, key=lambda term: (-term.weight, term.term))
    if heaviest > STOP_WEIGHT:
        ranked = [term for term in ranked if term.weight > STOP_WEIGHT]
    return {term.term: term.weight for term in ranked[:MAX_WORDS]}


def _speak(name: str) -> str:
    """Return a name with spaces where its words meet."""
    if not name.islower():
        name = _CAMEL.sub(" ", name)
    return name.replace("_", " ")


def _join_texts(texts: Sequence[str]) -> tuple[bytes, NDArray[np.int64]]:
    """Return the beginnings of all texts, folded, in one buffer, and where in it each ends."""
    cut = [text[:MAX_TEXT] for text in texts]
    odd = [row for row, text in enumerate(cut) if not text.isascii()]
    for row in odd:
        cut[row] = fold(cut[row])
    sizes = np.fromiter(map(len, cut), np.int64, len(cut))
    sizes[odd] = [len(cut[row].encode("utf-8", "replace")) for row in odd]
    # Lowering bytes lowers ASCII alone, and the other texts are folded: one pass over all.
    return "\n".join(cut).encode("utf-8", "replace").lower(), np.cumsum(sizes + 1)


def _write_expression(stems: dict[str, float]) -> str:
    unspaced = [re2.escape(stem) for stem in stems if any(map(is_cjk, stem))]
    spaced = [re2.escape(stem) for stem in stems if not any(map(is_cjk, stem))]
    kinds = []
    if spaced:
        kinds.append(rf"\b(?:{'|'.join(spaced)})(?:e|y|i|ie)?{_ENDING}\b")
    kinds.extend(unspaced)
    return "|".join(kinds)


def _stem(written: str, stems: dict[str, float]) -> str | None:
    """Which wanted stem a match stands for; None when it only looked like one."""
    if written in stems:
        return written
    return next((term for term in analyse_word(written) if term in stems), None)


class ColdCatalog:
    """The answers of a `Source`, each found by looking at the tools themselves."""

    only_ranker = "keyword"
    skipped = ()
    vectors = None

    def __init__(
        self,
        tools: ToolList,
        taxonomy: Taxonomy | None = None,
        tokens: NDArray[np.int64] | None = None,
        overlay: TenantOverlay = NO_ROWS,
    ) -> None:
        """Take a list; `taxonomy` is the bundled one, and `tokens` are estimated, if None."""
        self.taxonomy = taxonomy or domains.load_bundled()
        self.digest = tools.digest
        self._tools = tools.tools
        self._ranked: Sequence[Any]
        self._ranked, self.adjusted = adjust_tools(tools.tools, overlay, self.taxonomy)
        self._tokens = tokens
        self._scored: tuple[Query, KeywordScores] | None = None

    @cached_property
    def names(self) -> Sequence[str]:
        """The name of each tool."""
        return [tool.name for tool in self._tools]

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """The row of each name."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def tokens(self) -> NDArray[np.int64]:
        """Estimated prompt tokens of each tool, shape (tools,)."""
        if self._tokens is not None:
            return self._tokens
        return np.array([estimate_tool_tokens(tool) for tool in self._tools], np.int64)

    def tool(self, row: int) -> Tool:
        """Return a tool as it was sent."""
        return self._tools[row]

    def measure_tool(self, row: int) -> int:
        """About how many bytes a tool has as it was sent."""
        return 4 * estimate_tool_tokens(self._tools[row])

    def traits(self, row: int) -> Traits:
        """Return what filters and details say of a tool, inferred now."""
        return read_traits(self._ranked[row], self.taxonomy)

    def scan(self, pattern: str) -> None:
        """Nothing: there is no text to match a regular expression against."""

    def expand(self, query: Query, is_word: Callable[[str], bool]) -> Query:
        """Return the query as it is: without an index no word is known to be missing."""
        return query

    def lexical(self, query: Query) -> KeywordScores:
        """Scores by whole words."""
        if self._scored is None or self._scored[0] != query:
            descriptions = [tool.description or "" for tool in self._tools]
            for row, tool in self.adjusted.tools.items():
                descriptions[row] = f"{tool.search_text} {descriptions[row]}"
            scores = score_keywords(query, self.names, descriptions)
            self._scored = query, scores
        return self._scored[1]

    def okapi(self, query: Query) -> KeywordScores:
        """Return counts of words, as for every ranker: there is no index."""
        return self.lexical(query)

    def mentions(self, text: str) -> list[Mention]:
        """Return the tools that a text names."""
        return find_mentions(text, self.names)

    def has_telling_word(self, query: Query, allowed: Allowed | None) -> bool:
        """Whether a telling word of the query is in the name of a tool that may be selected."""
        named = self.lexical(query).named
        return bool((named if allowed is None else named & allowed).any())

    def has_term(self, term: str, *, in_name: bool = False) -> bool:
        """Return true: nothing is indexed, so that tools may have any term."""
        return True

    def find(self, term: str, row: int) -> Hit | None:
        """Where a tool has a term, or None."""
        tool = self._tools[row]
        texts = {"name": tool.name, "description": tool.description or ""}
        fields = [field for field, text in texts.items() if term in analyse_terms(text)]
        return Hit(fields, 1.0) if fields else None

    def allowed(
        self, filters: Filters | None, pattern: str, keep: Sequence[str], top_k: int
    ) -> Allowed | None:
        """Return the tools that may be selected, as far as they can be in the answer."""
        if filters is None and all(tool.status != "unavailable" for tool in self._ranked):
            return None
        query = analyse(find_asking_part(pattern))
        named = add_whole_name(self.mentions(query.text), pattern, self.rows)
        considered = [self.rows[name] for name in keep if name in self.rows]
        considered += [*self.adjusted.pinned, *(mention.row for mention in named)]
        scores = self.lexical(query).bm25
        return facets.filter_by_score(
            self._ranked, filters, self.taxonomy, scores, considered, top_k
        )

    def providers(self, row: int) -> Sequence[tuple[str, Sequence[int]]]:
        """None: what a tool requires is not read yet."""
        return ()

    def find_elsewhere(self, domain: str) -> Sequence[int]:
        """Return the tools that declare another domain; none is inferred."""
        return facets.find_declared_elsewhere(self._ranked, domain)

    def __len__(self) -> int:
        return len(self._tools)
