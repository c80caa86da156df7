"""What questions are put to: a compiled catalog, or a tool list that is not indexed yet."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toolscout.contract.requests import Filters
from toolscout.contract.tools import Tool
from toolscout.index.adjusted import Adjusted
from toolscout.index.bm25 import Hit, LexicalScores
from toolscout.index.facets import Allowed
from toolscout.index.lines import Scan
from toolscout.index.names import Mention
from toolscout.index.vector_index import VectorIndex
from toolscout.text.domains import Taxonomy
from toolscout.text.query import Query
from toolscout.tools.traits import Traits


class Source(Protocol):
    """Tools in name order, so that equal scores and row order agree; a row is a place in it."""

    @property
    def digest(self) -> str:
        """The name of the content."""

    @property
    def names(self) -> Sequence[str]:
        """The name of each tool."""

    @property
    def rows(self) -> Mapping[str, int]:
        """The row of each name."""

    @property
    def taxonomy(self) -> Taxonomy:
        """What domains are inferred by."""

    @property
    def vectors(self) -> VectorIndex | None:
        """The embeddings; None as long as there are none, and only words rank."""

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Estimated prompt tokens of each tool, shape (tools,)."""

    @property
    def only_ranker(self) -> str | None:
        """The one ranker that can answer; None where all can."""

    @property
    def skipped(self) -> Sequence[str]:
        """Names of tools that could not be compiled and are left out."""

    @property
    def adjusted(self) -> Adjusted:
        """What an operator's overlay makes of the tools."""

    def tool(self, row: int) -> Tool:
        """Return a tool as it was sent."""

    def measure_tool(self, row: int) -> int:
        """About how many bytes a tool has as it was sent."""

    def traits(self, row: int) -> Traits:
        """Return what filters and details say of a tool."""

    def scan(self, pattern: str) -> Scan | None:
        """Return what a regular expression matches; None where texts are not kept for it."""

    def expand(self, query: Query, is_word: Callable[[str], bool]) -> Query:
        """Return the query with terms that stand for those that no tool has."""

    def lexical(self, query: Query) -> LexicalScores:
        """BM25 and coverage of every tool."""

    def okapi(self, query: Query) -> LexicalScores:
        """BM25 of every tool as one text."""

    def mentions(self, text: str) -> list[Mention]:
        """Return the tools that a text names."""

    def has_telling_word(self, query: Query, allowed: Allowed | None) -> bool:
        """Whether a telling word of the query is in the name of a tool that may be selected."""

    def has_term(self, term: str, *, in_name: bool = False) -> bool:
        """Whether any tool has a term, or has it in its name; true where nothing is indexed."""

    def find(self, term: str, row: int) -> Hit | None:
        """Where a tool has a term, or None."""

    def allowed(
        self, filters: Filters | None, pattern: str, keep: Sequence[str], top_k: int
    ) -> Allowed | None:
        """Return the tools that may be selected, or None when all may.

        Where traits are not indexed, only those are looked at that can be among the `top_k` for a
        pattern, or are to be kept.
        """

    def providers(self, row: int) -> Sequence[tuple[str, Sequence[int]]]:
        """Return the nouns whose identifiers a tool requires, each with its possible finders."""

    def find_elsewhere(self, domain: str) -> Sequence[int]:
        """Return the tools that are known to belong to another domain."""

    def __len__(self) -> int: ...
