"""The values of the pipeline: a question, its state between stages, and the answer."""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, TypedDict

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.contract.bounds import MAX_PATTERN_CHARS
from toolscout.contract.fields import DEFAULT_TOP_K, Outcome, RankerName
from toolscout.contract.requests import Options
from toolscout.index.bm25 import LexicalScores
from toolscout.index.embedder import Embedder, QueryVectors
from toolscout.index.facets import Allowed
from toolscout.index.lines import Scan
from toolscout.index.names import Mention
from toolscout.index.source import Source
from toolscout.ranking.boost import Boosts
from toolscout.ranking.calibration import WEAK
from toolscout.ranking.choose import Chain, NoMatch
from toolscout.text.conversation import Earlier
from toolscout.text.passages import find_asking_part
from toolscout.text.query import Query

Floats = NDArray[np.float32]


DOUBT = 0.2
"""Success with a query that is missing to be sure of it: a single one counts five sixths."""


class Past(NamedTuple):
    """The past queries of one tool near this one, as one more text of the tool."""

    cosine: float
    """Of the nearest, or the mean of the two nearest."""
    successes: float
    """Successes of the nearest less failures, faded with time."""

    @property
    def weight(self) -> float:
        """How much they count, 0 to 1: less for a single report, and for old ones."""
        return self.successes / (self.successes + DOUBT)


class Learned(NamedTuple):
    """What experience says about a query."""

    likeness: float
    """Cosine of the nearest past query."""
    past: Mapping[int, Past]
    """The past queries of tools near this one, by row."""
    failed: Mapping[int, float]
    """How much tools have failed for such a query, 0 to 1, by row."""
    proven: Collection[int] = ()
    """Rows of tools that worked often for this very query."""
    exemplary: Collection[int] = ()
    """Rows of tools that say by an example that they serve a similar query."""
    barred: Collection[int] = ()
    """Rows of tools that do not serve such a query, as their operator says."""

    def among(self, allowed: Allowed) -> "Learned":
        """Return the same of the tools that may be selected."""
        return Learned(
            self.likeness,
            {row: past for row, past in self.past.items() if allowed[row]},
            {row: blame for row, blame in self.failed.items() if allowed[row]},
            [row for row in self.proven if allowed[row]],
            [row for row in self.exemplary if allowed[row]],
        )


class Prior(NamedTuple):
    """The experience with the tools of one catalog."""

    of: Callable[[Query, QueryVectors | None], Learned | None]
    """Returns the experience for a query; None without any."""
    version: int | None = None
    """Differs wherever `of` could answer differently; None if that cannot be told."""


_NO_QUERY = Query("", (), ())
_NO_SCORES = np.zeros(0, np.float32)


class Ask(Options, frozen=True, kw_only=True):
    """A question to a catalog, from any interface, with its defaults."""

    pattern: str
    earlier: tuple[Earlier, ...] = ()
    """What was said before in a conversation."""
    top_k: int = DEFAULT_TOP_K
    always_keep: tuple[str, ...] = ()
    ranker: RankerName = "auto"
    no_match: NoMatch = "empty"
    no_match_below: float = WEAK
    """The outcome is no match if the best tool's calibrated score, 0 to 1, is below this."""
    min_score: float = 0.0
    budget_tokens: int | None = None
    include_definitions: bool = False
    prerequisites: bool = True

    @property
    def expression(self) -> str:
        """Return the characters that are taken as a regular expression, where it is one."""
        return self.pattern.strip()[:MAX_PATTERN_CHARS]

    @property
    def ranking_part(self) -> str:
        """Return what the pattern asks; of a long one a part, where no tools are at hand."""
        return find_asking_part(self.pattern)


class DecideOptions(TypedDict, total=False):
    """What a decision may depend on besides tools, question and embedder."""

    degraded: str | None
    """The ranker to run instead of the requested one, when time is short."""
    prior: Prior | None
    """The experience, which only `hybrid` uses."""
    chain: Chain | None
    """The learned chain to follow."""
    scan: Scan | None
    """The matches of the pattern as a regular expression, if it was matched before."""


Question = tuple[Source, Ask, DecideOptions]
"""All that a decision depends on, but for the embedder."""


class Ranking(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A question in the pipeline: the input, then the results of each stage.

    Scores have shape (tools,); 0 means no evidence.
    """

    ask: Ask
    source: Source
    embedder: Embedder | None = None
    degraded: str | None = None
    """The ranker that ran instead of the requested one, because time was short."""
    prior: Prior | None = None
    chain: Chain | None = None
    """The learned chain to follow."""
    scan: Scan | None = None
    """The matches of the pattern as a regular expression; None if it is none."""

    allowed: Allowed | None = None
    """The tools that may be selected; None when all may."""
    pinned: tuple[int, ...] = ()
    """The rows of `always_keep` that may be selected."""
    unknown_pins: tuple[str, ...] = ()
    """The names of `always_keep` that no tool has."""
    following: tuple[int, ...] = ()
    """The rows of the chain that may be selected."""

    earlier: tuple[Earlier, ...] = ()
    """What was said before, with the weights that it has for this turn."""
    is_clear: bool = False
    """Whether the last turn of a conversation is a match by itself."""
    of_last_turn: Floats | None = None
    """The fused scores of the last turn of a conversation by itself, where that is weak."""

    is_joined: bool = False
    """Whether the evidence of words and meaning was found in one native call."""

    ranker: str = ""
    query: Query = _NO_QUERY
    note: str | None = None
    """Why another ranker ran than the requested one, or how the pattern was interpreted."""
    matched: tuple[int, ...] = ()
    """The rows that the regular expression matched, of the tools that may be selected."""

    lexical: LexicalScores | None = None
    vectors: QueryVectors | None = None
    cosine: Floats | None = None
    """Similarity by the best turn of a conversation, for ranking."""
    whole: Floats | None = None
    """Similarity of the query as a whole, for judging whether anything fits."""
    familiarity: float = 0.0
    """Share of the query that the embedding model knows; the cosines are weighted by it."""
    learned: Learned | None = None
    """The experience with this query."""
    raised: Mapping[int, float] = {}
    """By how much experience raises the cosines of tools, by row; others are not raised."""
    held: Collection[int] = ()
    """Rows that experience raises below a match, which it may not pass: their relevance stays."""
    mentions: list[Mention] = []
    unlearned: Floats = _NO_SCORES
    """The scores without experience."""
    scores: Floats = _NO_SCORES
    outcome: Outcome = "match"
    boosts: Boosts | None = None
    prerequisites: dict[int, int] = {}
    """From tools that find a required identifier to the tools that require it."""

    ranked: list[int] = []
    """The best rows, best first."""
    kept: list[int] = []
    """The pins that the answer has room for."""
    last: list[int] = []
    """The pins after the ranked rows."""


class Decision(msgspec.Struct, frozen=True, eq=False):
    """The answer: rows of the catalog in answer order, and how they were selected."""

    pattern: str
    names: list[str]
    rows: list[int]
    pinned: list[int]
    ranking: Ranking
    degraded: str | None = None
    chained: dict[int, float] = {}
    """Rows of the chain that was followed, with the confidence in it."""

    @property
    def outcome(self) -> Outcome:
        """Match, weak or no_match."""
        return self.ranking.outcome
