"""One question to a catalog, the scores it gets, and the answer made of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.contract import (
    DEFAULT_TOP_K,
    Context,
    Detail,
    Filters,
    Outcome,
    RankerName,
    Session,
)
from toolscout.index.bm25 import LexicalScores
from toolscout.index.names import Mention
from toolscout.index.vectors import QueryVectors
from toolscout.ranking.boost import Boosts
from toolscout.ranking.calibration import WEAK
from toolscout.ranking.choose import NoMatch
from toolscout.text.query import MAX_PATTERN_CHARS, Query

Floats = NDArray[np.float32]

Prior = Callable[[Query, QueryVectors | None], tuple[Floats, float] | None]
"""What to add to each tool's score for a query, shape (tools,), and how alike the nearest query is
that this comes from (a cosine); None for nothing."""


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
    session: Session | None = None
    context: Context | None = None


@dataclass(slots=True)
class Ranking:
    """Scores of every tool (0 = no evidence) and what is needed to explain them."""

    query: Query
    ranker: str
    scores: Floats
    lexical: LexicalScores | None = None
    cosine: Floats | None = None
    """Similarity by the best sentence, for ranking."""
    whole: Floats | None = None
    """Similarity of the query as a whole, for judging whether anything fits."""
    familiarity: float = 0.0
    """How much of the query the embedding model knows; its opinion counts that much."""
    mentions: list[Mention] = field(default_factory=list)
    outcome: Outcome = "match"
    boosts: Boosts | None = None
    learned: Floats | None = None
    """What experience adds to each score; negative where a tool failed."""
    likeness: float = 0.0
    """Cosine of the nearest query that this experience comes from."""
    has_telling_word: Callable[[], bool] | None = None
    """Whether a telling word of the query is in the name of a tool that may be selected."""
    note: str | None = None
    """Why another ranker ran than the one asked for, or how a pattern was read."""


@dataclass(slots=True)
class Decision:
    """The answer: rows of the catalog in answer order, and how they came about."""

    pattern: str
    names: list[str]
    rows: list[int]
    pinned: list[int]
    ranking: Ranking
    degraded: str | None = None
    chained: dict[int, float] = field(default_factory=dict)
    """Rows that belong to the chain that was followed, with the confidence in it."""

    @property
    def outcome(self) -> Outcome:
        """Match, weak or no_match."""
        return self.ranking.outcome
