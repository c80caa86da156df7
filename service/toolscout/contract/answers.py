"""Answers about a tool list, and usage statistics."""

import enum
from typing import Literal

import msgspec

from toolscout.contract.fields import Outcome
from toolscout.contract.tools import ToolDetail


class Via(enum.StrEnum):
    """How a piece of the query was found in a tool."""

    EXACT = "exact"
    ALIAS = "alias"
    PREFIX = "prefix"
    STEM = "stem"
    SYNONYM = "synonym"
    FUZZY = "fuzzy"
    REGEX = "regex"
    KEYWORD = "keyword"
    SEMANTIC = "semantic"
    BOOST = "boost"
    LEARNED = "learned"
    CHAIN = "chain"
    PREREQUISITE = "prerequisite"


class Reason(msgspec.Struct, frozen=True):
    """One piece of evidence: what of the query was found in which field, and how.

    `weight` is the share of the query that it accounts for, 0 to 1; for `semantic` the cosine. For
    `boost` it is the share by which the score is raised or, negative, lowered, for `learned` what
    experience adds to the score, negative where the tool failed. For `prerequisite` the term is the
    tool that requires what this one finds, and the weight that tool's score.
    """

    field: str
    term: str
    via: Via
    weight: float


class Match(msgspec.Struct, frozen=True):
    """One selected tool: its relevance, 0 to 1, and the reasons for it, strongest first."""

    name: str
    score: float
    reasons: list[Reason]
    pinned: bool


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Numbers of tools: sent, distinct, with evidence, and selected."""

    offered: int
    unique: int
    ranked: int
    selected: int
    skipped: int = 0
    """Entries that cannot be ranked: a provider's built-ins without a name, and tools whose text
    cannot be compiled, which the notes name. Absent if none."""


class TokenCounts(msgspec.Struct, frozen=True):
    """Estimated prompt tokens (four characters each) of all distinct tools and of the selected.

    The selected count as they are shown: in brief with `detail: brief`, whole otherwise. An answer
    without tools saves nothing.
    """

    offered: int
    selected: int
    saved: int


class SearchAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a search returns; everything after `selected_names` only when asked for."""

    selected_names: list[str]
    tools: list[ToolDetail] | None = None
    """The selected tools in the same order, with `detail` or `include_definitions`."""
    matches: list[Match] | None = None
    outcome: Outcome | None = None
    ranker: str | None = None
    degraded: str | None = None
    counts: Counts | None = None
    tokens: TokenCounts | None = None
    timings_ms: dict[str, float] | None = None
    catalog: str | None = None
    notes: list[str] | None = None


class BatchResult(SearchAnswer, frozen=True, omit_defaults=True, kw_only=True):
    """The answer to one pattern of a batch."""

    pattern: str


class BatchAnswer(msgspec.Struct, frozen=True):
    """One result per pattern, in their order."""

    results: list[BatchResult]


class Resolution(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tool that a name refers to; several if it is ambiguous, or similar names."""

    query: str
    name: str | None = None
    matched_by: Literal["exact", "alias"] | None = None
    """To the letter, or in another spelling, without its prefix, or by a name in the definition."""
    ambiguous: list[str] | None = None
    """The tools that match equally well."""
    suggestions: list[str] | None = None
    """Similar names, the most similar first, if no tool matches."""


class ResolveAnswer(msgspec.Struct, frozen=True):
    """One result per name, in their order."""

    results: list[Resolution]


class FilterAnswer(msgspec.Struct, frozen=True):
    """Names of all tools, the most relevant of each list first."""

    kept: list[str]
    deferred: list[str]


class RelevantTools(msgspec.Struct, frozen=True):
    """The nested list of the newer contract."""

    relevant_tools: list[str]


class GatewayAnswer(SearchAnswer, frozen=True, omit_defaults=True, kw_only=True):
    """The superset that every release of the proxy accepts."""

    success: Literal[True]
    data: RelevantTools


class Tiers(msgspec.Struct, frozen=True):
    """Tools to show in full, tools to show in brief, and the number of the others."""

    tier0: list[ToolDetail]
    tier1: list[ToolDetail]
    deferred_count: int


class TierTokens(msgspec.Struct, frozen=True):
    """Estimated prompt tokens: of each tier, of both, of all tools in full, and the difference."""

    tier0: int
    tier1: int
    total: int
    budget: int
    offered: int
    saved: int


class HotAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tools of an agent's next turn."""

    tiers: Tiers
    tokens: TierTokens
    degraded: str = "no"
    """The cheaper ranker that answered; absent if none was needed."""


class Quantiles(msgspec.Struct, frozen=True):
    """Percentiles of the latest searches' durations, in milliseconds."""

    p50: float
    p95: float
    p99: float
    count: int


class CacheCounts(msgspec.Struct, frozen=True):
    """Searches of compiled lists, and of new ones."""

    hits: int
    misses: int


class TokenTotals(msgspec.Struct, frozen=True):
    """Estimated prompt tokens of offered and of selected tools, and the difference."""

    offered: int
    selected: int
    saved: int


class LearningSize(msgspec.Struct, frozen=True):
    """Number of reported calls, and of the tools they concern."""

    observations: int
    tools: int


class StatsAnswer(msgspec.Struct, frozen=True):
    """Usage of one tenant in this process since its start."""

    searches: int
    outcomes: dict[str, int]
    latency_ms: dict[str, dict[str, Quantiles]]
    """By ranker, then by phase."""
    cache: CacheCounts
    tokens: TokenTotals
    hot: int = 0
    """Calls of `hot`; their times are under `hot`, their tokens are included."""
    learning: LearningSize | None = None
    """None while learning is off."""
