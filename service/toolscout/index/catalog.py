"""A compiled tool list: everything a ranker needs, immutable, in name order."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.contract.requests import Filters
from toolscout.contract.tools import Tool
from toolscout.index import expand, lines
from toolscout.index.adjusted import UNADJUSTED, Adjusted
from toolscout.index.bm25 import Hit, LexicalScores, Postings
from toolscout.index.expand import Synonyms
from toolscout.index.facets import Allowed, Facets
from toolscout.index.lines import Scan, TextLines
from toolscout.index.names import Mention, NameIndex
from toolscout.index.okapi import Okapi
from toolscout.index.prerequisites import Prerequisites
from toolscout.index.vector_index import VectorIndex
from toolscout.text.domains import Taxonomy
from toolscout.text.query import Query, load_telling_terms
from toolscout.tools.documents import decode_tool
from toolscout.tools.traits import Traits

EXAMPLE_BYTES = 2_000
"""About what one example takes, in the index that a question makes of them."""


DIGEST_BYTES = 32


class Example(NamedTuple):
    """A request that a tool says it serves, or that an operator says it does not."""

    row: int
    packed: bytes
    """The request, as a packed pattern."""
    is_served: bool


class Embedded(NamedTuple):
    """What an embedding model makes of the tools of a catalog."""

    vectors: VectorIndex
    examples: tuple[Example, ...]


class Catalog(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """Tools sorted by name, so that equal scores and row order agree.

    `vectors` is None while the embeddings of a new catalog are still being made; such a
    catalog answers by words.
    """

    digest: str
    digests: bytes
    """Those of the tools, joined; empty where nobody compares them."""
    names: tuple[str, ...]
    rows: dict[str, int]
    postings: Postings
    spellings: NameIndex
    lines: TextLines
    vectors: VectorIndex | None
    tokens: NDArray[np.int64]
    """Estimated prompt tokens of each tool, shape (tools,)."""
    all_tokens: int
    """Those of all together."""
    facets: Facets
    """What filters look at."""
    wires: tuple[bytes, ...]
    """Each tool as it was sent, in JSON."""
    texts: Okapi
    """What the ranker `okapi` looks at."""
    taxonomy: Taxonomy
    synonyms: Synonyms | None
    """What stands for what in queries; None for the bundled list."""
    nbytes: int
    prerequisites: Prerequisites
    skipped: tuple[str, ...] = ()
    """Names of tools that could not be compiled and are left out."""
    examples: tuple[Example, ...] = ()
    """Of the tools; empty as long as there are no vectors."""
    adjusted: Adjusted = UNADJUSTED
    only_ranker: None = None

    def tool(self, row: int) -> Tool:
        """Return a tool as it was sent."""
        return decode_tool(self.wires[row])

    def list_digests(self) -> list[bytes]:
        """Return the digest of each tool."""
        joined = self.digests
        return [joined[at : at + DIGEST_BYTES] for at in range(0, len(joined), DIGEST_BYTES)]

    def measure_tool(self, row: int) -> int:
        """About how many bytes a tool has as it was sent."""
        return len(self.wires[row])

    def traits(self, row: int) -> Traits:
        """Return what filters and details say of a tool."""
        return self.facets.of(row)

    def scan(self, pattern: str) -> Scan:
        """Return what a regular expression matches."""
        return lines.scan(pattern, self.lines)

    def expand(self, query: Query, is_word: Callable[[str], bool]) -> Query:
        """Return the query with terms that stand for those that no tool has."""
        return expand.expand(query, self.postings, is_word, self.synonyms)

    def lexical(self, query: Query) -> LexicalScores:
        """BM25 and coverage of every tool."""
        return self.postings.score(
            [(term.term, term.weight, term.credit if term.via else None) for term in query.terms]
        )

    def okapi(self, query: Query) -> LexicalScores:
        """BM25 of every tool as one text; how well it fits is judged as for the fields."""
        return msgspec.structs.replace(self.lexical(query), bm25=self.texts.scores(query))

    def mentions(self, text: str) -> list[Mention]:
        """Return the tools that a text names."""
        return self.spellings.mentions(text, self.postings.is_rare)

    def has_telling_word(self, query: Query, allowed: Allowed | None) -> bool:
        """Whether a telling word of the query is in the name of a tool that may be selected."""
        for term in load_telling_terms(query):
            rows = self.postings.find_named_rows(term, is_rare=True)
            if len(rows) and (allowed is None or allowed[rows].any()):
                return True
        return False

    def has_term(self, term: str, *, in_name: bool = False) -> bool:
        """Whether any tool has a term, or has it in its name."""
        if in_name:
            return len(self.postings.find_named_rows(term)) > 0
        return self.postings.find_rarity(term) is not None

    def find(self, term: str, row: int) -> Hit | None:
        """Where a tool has a term, or None."""
        return self.postings.find(term, row)

    def allowed(
        self, filters: Filters | None, pattern: str, keep: Sequence[str], top_k: int
    ) -> Allowed | None:
        """Return the tools that may be selected, or None when all may."""
        return self.facets.allowed(filters, self.rows)

    def providers(self, row: int) -> Sequence[tuple[str, Sequence[int]]]:
        """Return the nouns whose identifiers a tool requires, each with its possible finders."""
        return self.prerequisites.of(row)

    def find_elsewhere(self, domain: str) -> Sequence[int]:
        """Return the tools that are known to belong to another domain."""
        return self.facets.find_elsewhere(domain)

    def prepare(self) -> None:
        """Make what only some questions need, and would otherwise make when they first do."""
        self.postings.prepare()
        self.prerequisites.prepare()
        self.lines.prepare()

    def with_vectors(self, embedded: Embedded) -> "Catalog":
        """Return the same catalog with the embeddings of its tools."""
        made = embedded.vectors
        examples = embedded.examples
        nbytes = self.nbytes + made.nbytes + EXAMPLE_BYTES * len(examples)
        return msgspec.structs.replace(
            self,
            vectors=made,
            examples=examples,
            nbytes=nbytes,
        )

    def __len__(self) -> int:
        return len(self.names)
