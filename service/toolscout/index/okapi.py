"""BM25 as rank-bm25 computes it: every tool one text, every word of a query alike.

For those who know it and compare. Made when a question first asks for it: its postings take as much
memory again as those of the fields.
"""

from collections.abc import Sequence

from toolscout.contract import Tool
from toolscout.index.bm25 import Bm25Weights, Floats, Postings
from toolscout.index.counts import TermCounts
from toolscout.text.query import Query
from toolscout.text.tokens import spoken_name, terms
from toolscout.tools.documents import decode_tool, read_tool

WEIGHTS = Bm25Weights(k1=1.5, field=(1.0, 1.0, 1.0), b=(0.75, 0.75, 0.75))
"""The defaults of rank-bm25's `BM25Okapi`; the idf is positive for every term, where theirs is not
for one that half of the tools have."""


class Okapi:
    """The tools of one catalog as plain texts."""

    __slots__ = ("_postings", "_wires")

    def __init__(self, wires: Sequence[bytes]) -> None:
        """Take each tool as it was sent, in JSON."""
        self._wires = wires
        self._postings: Postings | None = None

    @property
    def ready(self) -> bool:
        """Whether the texts are indexed."""
        return self._postings is not None

    def prepare(self) -> Postings:
        """Index the texts, unless they are: some 10 ms for 300 tools."""
        if self._postings is None:
            texts = map(_text, map(decode_tool, self._wires))
            self._postings = Postings([TermCounts.of((text, (), ())) for text in texts], WEIGHTS)
        return self._postings

    def scores(self, query: Query) -> Floats:
        """BM25 of every tool for the words of a query, shape (tools,)."""
        return self.prepare().score([(term.term, 1.0, None) for term in query.terms]).bm25


def _text(tool: Tool) -> list[str]:
    document = read_tool(tool)
    return [
        *terms(spoken_name(document.name)),
        *terms(document.description),
        *terms(document.properties),
    ]
