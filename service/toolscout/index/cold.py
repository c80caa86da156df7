"""A tool list that is not indexed yet: it answers by whole words in names and descriptions."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toolscout.contract.requests import Filters
from toolscout.contract.tools import Tool
from toolscout.index import facets
from toolscout.index.bm25 import Hit
from toolscout.index.facets import Allowed
from toolscout.index.keyword import KeywordScores, keyword_scores
from toolscout.index.names import Mention, mentions_in_many, with_whole_name
from toolscout.index.tool_list import ToolList
from toolscout.index.vectors import Embedder, Rows, TellingTokens
from toolscout.text import domains
from toolscout.text.domains import Taxonomy
from toolscout.text.query import Query, analyse
from toolscout.text.tokens import terms
from toolscout.tools.cost import tool_tokens
from toolscout.tools.traits import Traits, read_traits


class ColdCatalog:
    """The answers of a `Source`, each found by looking at the tools themselves."""

    only_ranker = "keyword"
    skipped = ()
    vectors = None
    encoded = None

    def __init__(
        self,
        tools: ToolList,
        taxonomy: Taxonomy | None = None,
        tokens: NDArray[np.int64] | None = None,
    ) -> None:
        """Take a list; `taxonomy` is the bundled one, and `tokens` are estimated, if None."""
        self.taxonomy = taxonomy or domains.bundled()
        self.digest = tools.digest
        self._tools = tools.tools
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
        return np.array([tool_tokens(tool) for tool in self._tools], np.int64)

    def tool(self, row: int) -> Tool:
        """Return a tool as it was sent."""
        return self._tools[row]

    def tool_bytes(self, row: int) -> int:
        """About how many bytes a tool has as it was sent."""
        return 4 * tool_tokens(self._tools[row])

    def traits(self, row: int) -> Traits:
        """Return what filters and details say of a tool, inferred now."""
        return read_traits(self._tools[row], self.taxonomy)

    def scan(self, pattern: str) -> None:
        """Nothing: there is no text to match a regular expression against."""

    def expand(self, query: Query, is_word: Callable[[str], bool]) -> Query:
        """Return the query as it is: without an index no word is known to be missing."""
        return query

    def lexical(self, query: Query) -> KeywordScores:
        """Scores by whole words."""
        if self._scored is None or self._scored[0] != query:
            descriptions = [tool.description or "" for tool in self._tools]
            scores = keyword_scores(query, self.names, descriptions)
            self._scored = query, scores
        return self._scored[1]

    def okapi(self, query: Query) -> KeywordScores:
        """Return counts of words, as for every ranker: there is no index."""
        return self.lexical(query)

    def mentions(self, text: str) -> list[Mention]:
        """Return the tools that a text names."""
        return mentions_in_many(text, self.names)

    def has_telling_word(self, query: Query, allowed: Allowed | None) -> bool:
        """Whether a telling word of the query is in the name of a tool that may be selected."""
        named = self.lexical(query).named
        return bool((named if allowed is None else named & allowed).any())

    def find(self, term: str, row: int) -> Hit | None:
        """Where a tool has a term, or None."""
        tool = self._tools[row]
        texts = {"name": tool.name, "description": tool.description or ""}
        fields = [field for field, text in texts.items() if term in terms(text)]
        return Hit(fields, 1.0) if fields else None

    def allowed(
        self, filters: Filters | None, pattern: str, keep: Sequence[str], top_k: int
    ) -> Allowed | None:
        """Return the tools that may be selected, as far as they can be in the answer."""
        if filters is None and all(tool.status != "unavailable" for tool in self._tools):
            return None
        query = analyse(pattern)
        named = with_whole_name(self.mentions(query.text), pattern, self.rows)
        considered = [self.rows[name] for name in keep if name in self.rows]
        considered += [mention.row for mention in named]
        scores = self.lexical(query).bm25
        return facets.allowed_by_score(
            self._tools, filters, self.taxonomy, scores, considered, top_k
        )

    def name_likeness(self, embedder: Embedder, query: TellingTokens, rows: Rows) -> None:
        """Nothing: there are no vectors."""

    def providers(self, row: int) -> Sequence[tuple[str, Sequence[int]]]:
        """None: what a tool requires is not read yet."""
        return ()

    def elsewhere(self, domain: str) -> Sequence[int]:
        """Return the tools that declare another domain; none is inferred."""
        return facets.declared_elsewhere(self._tools, domain)

    def __len__(self) -> int:
        return len(self._tools)
