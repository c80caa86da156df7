"""One question to a tool list, what is found out about it stage by stage, and the answer."""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.contract import (
    DEFAULT_TOP_K,
    Context,
    Detail,
    Fill,
    Filters,
    Outcome,
    RankerName,
    Session,
)
from toolscout.index.bm25 import LexicalScores
from toolscout.index.facets import Allowed
from toolscout.index.lines import Scan
from toolscout.index.names import Mention
from toolscout.index.source import Source
from toolscout.index.vectors import Embedder, QueryVectors
from toolscout.ranking.boost import Boosts
from toolscout.ranking.calibration import WEAK
from toolscout.ranking.chain import Chain
from toolscout.ranking.choose import NoMatch
from toolscout.text.query import MAX_PATTERN_CHARS, Query

Floats = NDArray[np.float32]

Prior = Callable[[Query, QueryVectors | None], tuple[Floats, float] | None]
"""What to add to each tool's score for a query, shape (tools,), and how alike the nearest query is
that this comes from (a cosine); None for nothing."""

_NO_QUERY = Query("", (), ())
_NO_SCORES = np.zeros(0, np.float32)


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a catalog, whatever carried it."""

    pattern: str
    top_k: int = DEFAULT_TOP_K
    always_keep: Sequence[str] = ()
    ranker: RankerName = "auto"
    no_match: NoMatch = "empty"
    no_match_below: float = WEAK
    """Calibrated score of the best tool below which nothing matches, 0 to 1."""
    max_pattern_chars: int = MAX_PATTERN_CHARS
    """Characters of the pattern that rank; the rest is ignored, never an error."""
    filters: Filters | None = None
    min_score: float = 0.0
    budget_tokens: int | None = None
    detail: Detail | None = None
    """How the selected tools will be shown, which is what the budget is spent on."""
    definitions: bool = False
    prerequisites: bool = True
    """Whether tools bring those that find what they require."""
    fill: Fill = "all"
    """Whether slots behind an evident winner are filled with tools that are far from it."""
    session: Session | None = None
    context: Context | None = None

    @property
    def ranking_part(self) -> str:
        """The characters of the pattern that rank."""
        return self.pattern.strip()[: self.max_pattern_chars]


class Ranking(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A question on its way: what was given, then what each stage has found out.

    Scores have shape (tools,); 0 means no evidence.
    """

    ask: Ask
    source: Source
    embedder: Embedder | None = None
    degraded: str | None = None
    """The ranker that ran instead of the one asked for, when time was short."""
    prior: Prior | None = None
    chain: Chain | None = None
    """The learned chain to follow."""
    scan: Scan | None = None
    """What the pattern matched as a regular expression; None where it is none."""

    allowed: Allowed | None = None
    """The tools that may be selected; None when all may."""
    pinned: tuple[int, ...] = ()
    """The rows of `always_keep` that may be selected."""
    following: tuple[int, ...] = ()
    """The rows of the chain that may be selected."""

    ranker: str = ""
    query: Query = _NO_QUERY
    note: str | None = None
    """Why another ranker ran than the one asked for, or how a pattern was read."""
    matched: tuple[int, ...] = ()
    """What a regular expression matched, of the tools that may be selected."""

    lexical: LexicalScores | None = None
    vectors: QueryVectors | None = None
    cosine: Floats | None = None
    """Similarity by the best sentence, for ranking."""
    whole: Floats | None = None
    """Similarity of the query as a whole, for judging whether anything fits."""
    familiarity: float = 0.0
    """How much of the query the embedding model knows; its opinion counts that much."""
    learned: Floats | None = None
    """What experience adds to each score; negative where a tool failed."""
    likeness: float = 0.0
    """Cosine of the nearest query that this experience comes from."""
    mentions: list[Mention] = []
    scores: Floats = _NO_SCORES
    outcome: Outcome = "match"
    boosts: Boosts | None = None
    has_clauses: bool = False
    """Whether the query asks for several things, each with a tool of its own."""
    prerequisites: dict[int, int] = {}
    """Tools that come because another requires what they find, each with that other tool."""

    ranked: list[int] = []
    """The best rows, best first."""
    kept: list[int] = []
    """The pins that the answer has room for."""
    last: list[int] = []
    """Those of them that come after the ranked rows."""


class Decision(msgspec.Struct, frozen=True, eq=False):
    """The answer: rows of the catalog in answer order, and how they came about."""

    pattern: str
    names: list[str]
    rows: list[int]
    pinned: list[int]
    ranking: Ranking
    degraded: str | None = None
    chained: dict[int, float] = {}
    """Rows that belong to the chain that was followed, with the confidence in it."""

    @property
    def outcome(self) -> Outcome:
        """Match, weak or no_match."""
        return self.ranking.outcome
