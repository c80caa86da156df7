"""The ranker `okapi`: BM25 as rank-bm25 computes it, every tool one text, every word alike.

It is made when a question first asks for it: its counts take more memory than the postings.
"""

from collections.abc import Sequence
from math import log

import numpy as np
from rank_bm25 import BM25Okapi

from toolscout.contract.tools import Tool
from toolscout.index.bm25 import Floats
from toolscout.text.query import Query
from toolscout.text.tokens import analyse_terms, speak_name
from toolscout.tools.documents import decode_tool, read_tool


class PositiveOkapi(BM25Okapi):  # type: ignore[misc]  # the package has no types
    """rank-bm25's scores with an idf that is positive for every term.

    Its own is negative or an average for a term that half of the tools have, so that a search of
    one or two tools finds nothing.
    """

    def _calc_idf(self, nd: dict[str, int]) -> None:
        for term, count in nd.items():
            self.idf[term] = log((self.corpus_size - count + 0.5) / (count + 0.5) + 1.0)


class Okapi:
    """The tools of one catalog as plain texts."""

    __slots__ = ("_scorer", "_wires")

    def __init__(self, wires: Sequence[bytes]) -> None:
        """Take each tool as it was sent, in JSON."""
        self._wires = wires
        self._scorer: PositiveOkapi | None = None

    @property
    def ready(self) -> bool:
        """Whether the texts are indexed."""
        return self._scorer is not None

    def prepare(self) -> PositiveOkapi:
        """Index the texts, unless they are: some 10 ms for 300 tools."""
        if self._scorer is None:
            # rank-bm25 divides by the mean length: a text without a term never matches.
            texts = [_write_text(decode_tool(wire)) or [""] for wire in self._wires]
            self._scorer = PositiveOkapi(texts)
        return self._scorer

    def scores(self, query: Query) -> Floats:
        """BM25 of every tool for the words of a query, shape (tools,)."""
        if not self._wires:
            return np.zeros(0, np.float32)
        scores: Floats = self.prepare().get_scores([term.term for term in query.terms])
        return scores.astype(np.float32)


def _write_text(tool: Tool) -> list[str]:
    document = read_tool(tool)
    return [
        *analyse_terms(speak_name(document.name)),
        *analyse_terms(document.description),
        *analyse_terms(document.properties),
    ]
