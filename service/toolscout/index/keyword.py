"""The last rung of the ladder: whole words in names and descriptions, nothing compiled.

Answers for tools that were never seen before and are too many to compile within the budget.
One RE2 scan over all texts finds the few places that matter, so ten thousand tools take tens
of milliseconds.
"""

import re
from collections.abc import Sequence
from math import log

import numpy as np
import re2
from numpy.typing import NDArray

from toolscout.index.bm25 import LexicalScores, rare_limit
from toolscout.text.query import STOP_WEIGHT, Query, telling_terms
from toolscout.text.tokens import fold, is_cjk, word_terms

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


def keyword_scores(
    query: Query, names: Sequence[str], descriptions: Sequence[str]
) -> KeywordScores:
    """Score tools by rarity of the query's words in them; a word in the name counts more."""
    named = np.zeros(len(names), np.bool_)
    scores = np.zeros(len(names), np.float32)
    covered = np.zeros(len(names), np.float64)
    wanted = _wanted(query)
    rarest = log(len(names) / 0.5 + 2.0)
    if not wanted or not names:
        return KeywordScores(scores, covered, 0.0, rarest, named)
    spoken = [_spoken(name) for name in names]
    expression = re2.compile(_expression(wanted).encode(), _OPTIONS)
    weights = {stem: np.zeros(len(names), np.float32) for stem in wanted}
    stems: dict[bytes, str | None] = {}
    for texts, weight in ((descriptions, 1.0), (spoken, NAME_WEIGHT)):
        buffer, ends = _joined(texts)
        places: dict[str, list[int]] = {stem: [] for stem in wanted}
        for match in expression.finditer(buffer):
            start, end = match.span()
            written = buffer[start:end]
            if written not in stems:
                stems[written] = _stem(written.decode("utf-8", "replace"), wanted)
            stem = stems[written]
            if stem is not None:
                places[stem].append(start)
        for stem, starts in places.items():
            weights[stem][np.searchsorted(ends, starts, side="right")] = weight
    total = 0.0
    telling = set(telling_terms(query))
    for stem, worth in wanted.items():
        found = weights[stem] > 0
        count = int(found.sum())
        rarity = worth * log((len(names) - count + 0.5) / (count + 0.5) + 1.0)
        total += rarity
        scores += np.float32(rarity) * weights[stem]
        covered += rarity * found
        if stem in telling and count <= rare_limit(len(names)):
            named |= weights[stem] == NAME_WEIGHT
    return KeywordScores(scores, covered, total, rarest, named)


def _wanted(query: Query) -> dict[str, float]:
    """Stems to look for with their weights, heaviest first.

    Stop words stand everywhere and decide nothing; they are left out beside content words.
    """
    heaviest = max((term.weight for term in query.terms), default=0.0)
    ranked = sorted(query.terms, key=lambda term: (-term.weight, term.term))
    if heaviest > STOP_WEIGHT:
        ranked = [term for term in ranked if term.weight > STOP_WEIGHT]
    return {term.term: term.weight for term in ranked[:MAX_WORDS]}


def _spoken(name: str) -> str:
    """Return a name with spaces where its words meet."""
    if not name.islower():
        name = _CAMEL.sub(" ", name)
    return name.replace("_", " ")


def _joined(texts: Sequence[str]) -> tuple[bytes, NDArray[np.int64]]:
    """Return the beginnings of all texts, folded, in one buffer, and where in it each ends."""
    cut = [text[:MAX_TEXT] for text in texts]
    odd = [row for row, text in enumerate(cut) if not text.isascii()]
    for row in odd:
        cut[row] = fold(cut[row])
    sizes = np.fromiter(map(len, cut), np.int64, len(cut))
    sizes[odd] = [len(cut[row].encode("utf-8", "replace")) for row in odd]
    # Lowering bytes lowers ASCII alone, and the other texts are folded: one pass over all.
    return "\n".join(cut).encode("utf-8", "replace").lower(), np.cumsum(sizes + 1)


def _expression(wanted: dict[str, float]) -> str:
    unspaced = [re2.escape(stem) for stem in wanted if any(map(is_cjk, stem))]
    spaced = [re2.escape(stem) for stem in wanted if not any(map(is_cjk, stem))]
    kinds = []
    if spaced:
        kinds.append(rf"\b(?:{'|'.join(spaced)})(?:e|y|i|ie)?{_ENDING}\b")
    kinds.extend(unspaced)
    return "|".join(kinds)


def _stem(written: str, wanted: dict[str, float]) -> str | None:
    """Which wanted stem a match stands for; None when it only looked like one."""
    if written in wanted:
        return written
    return next((term for term in word_terms(written) if term in wanted), None)
