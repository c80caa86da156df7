"""How good a model is: nDCG@5 and recall@5 of its ranking, alone and fused with BM25."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evals.train.data import ToolSet
from evals.train.lexical import bm25_scores
from evals.train.texts import (
    DESCRIPTION_CHARS,
    properties_text,
    query_sentences,
    query_text,
    tool_text,
)

Matrix = NDArray[np.float32]
Encode = Callable[[list[str]], Matrix]
"""Texts to unit vectors."""

DEPTH = 5
"""A selector hands on a handful of tools, so only the first five places count."""

PROPERTY_SHARE = 0.35
"""Weight of the properties' vector beside the tool text's; appended to the text they hurt."""

SENTENCE_SHARE = 0.67
"""Requests for several tools name each in a sentence of its own."""

LEXICAL_SHARES = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
"""Weights of BM25 tried in the fusion."""


@dataclass(frozen=True)
class Score:
    """Means over the queries of one set."""

    ndcg: float
    recall: float


Scores = dict[str, Score]
"""Scores by the name of the set."""

Cosines = Callable[[Encode, ToolSet], Matrix]
"""How a model scores every query against every tool, shape (queries, tools)."""


def score_ranking(scores: Matrix, golds: Sequence[Sequence[int]]) -> Score:
    """nDCG@5 and recall@5 with binary gains; ties are broken by the tools' order."""
    top = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    discounts = 1.0 / np.log2(np.arange(2, DEPTH + 2))
    ndcg = recall = 0.0
    for row, gold in zip(top, golds, strict=True):
        hits = np.isin(row, gold)
        ndcg += float((hits * discounts).sum() / discounts[: min(len(gold), DEPTH)].sum())
        recall += float(hits.sum()) / len(gold)
    return Score(ndcg / len(golds), recall / len(golds))


def plain_cosines(encode: Encode, tool_set: ToolSet, limit: int = DESCRIPTION_CHARS) -> Matrix:
    """Cosine of every query with every tool's text, shape (queries, tools)."""
    tools = encode([tool_text(tool.name, tool.description, limit) for tool in tool_set.tools])
    queries = encode([query_text(query) for query in tool_set.queries])
    return np.asarray(queries @ tools.T, dtype=np.float32)


def composed_cosines(encode: Encode, tool_set: ToolSet, limit: int = DESCRIPTION_CHARS) -> Matrix:
    """Cosines with properties and sentences as vectors of their own, shape (queries, tools).

    A tool is its text plus PROPERTY_SHARE of its properties; a query counts as a whole and, at
    SENTENCE_SHARE, by the sentence of it that fits the tool best.
    """
    tools = encode([tool_text(tool.name, tool.description, limit) for tool in tool_set.tools])
    properties = encode([properties_text(tool.properties) for tool in tool_set.tools])
    some = np.array([[bool(tool.properties)] for tool in tool_set.tools])
    tools = _unit(tools + PROPERTY_SHARE * properties * some)
    whole = encode([query_text(query) for query in tool_set.queries]) @ tools.T
    sentences = [query_sentences(query) for query in tool_set.queries]
    each = encode([sentence for found in sentences for sentence in found]) @ tools.T
    starts = np.cumsum([0, *(len(found) for found in sentences[:-1])])
    best = np.maximum.reduceat(each, starts, axis=0)
    return np.asarray((1 - SENTENCE_SHARE) * whole + SENTENCE_SHARE * best, dtype=np.float32)


def _unit(rows: Matrix) -> Matrix:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(length, 1e-9), dtype=np.float32)


def fuse(lexical: Matrix, cosine: Matrix, share: float) -> Matrix:
    """Weighted sum of max-normalised BM25 and min-max cosine, as the service does it."""
    highest = lexical.max(axis=1, keepdims=True)
    low, high = cosine.min(axis=1, keepdims=True), cosine.max(axis=1, keepdims=True)
    scaled = (cosine - low) / np.maximum(high - low, 1e-9)
    fused = share * lexical / np.maximum(highest, 1e-9) + (1 - share) * scaled
    return np.asarray(fused, dtype=np.float32)


class Bench:
    """Tool sets with their BM25 scores, computed once and reused for every model."""

    def __init__(self, tool_sets: Sequence[ToolSet]) -> None:
        self.tool_sets = list(tool_sets)
        self.lexical = [bm25_scores(tool_set) for tool_set in self.tool_sets]

    def bm25(self) -> Scores:
        """BM25 alone."""
        return self._scored(self.lexical)

    def semantic(self, encode: Encode, cosines: Cosines = plain_cosines) -> Scores:
        """Return the cosine ranking alone."""
        return self._scored([cosines(encode, tool_set) for tool_set in self.tool_sets])

    def hybrid(self, encode: Encode, cosines: Cosines = plain_cosines) -> tuple[Scores, float]:
        """Return the fused ranking at the share of BM25 that is best on average, and that share."""
        found = [cosines(encode, tool_set) for tool_set in self.tool_sets]
        results = []
        for share in LEXICAL_SHARES:
            fused = [fuse(a, b, share) for a, b in zip(self.lexical, found, strict=True)]
            results.append((self._scored(fused), share))
        return max(results, key=lambda result: average(result[0]).ndcg)

    def _scored(self, rankings: Sequence[Matrix]) -> Scores:
        return {
            tool_set.name: score_ranking(ranking, tool_set.golds)
            for tool_set, ranking in zip(self.tool_sets, rankings, strict=True)
        }


def average(scores: Scores) -> Score:
    """Unweighted mean over sets: a large set counts no more than a small one."""
    values = list(scores.values())
    return Score(
        sum(s.ndcg for s in values) / len(values), sum(s.recall for s in values) / len(values)
    )
