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
    OVERLAY = "overlay"


class Reason(msgspec.Struct, frozen=True):
    """One piece of evidence: what of the query was found in which field, and how.

    `weight` is the share of the query that it accounts for, 0 to 1; for `semantic` the cosine. For
    `boost` it is the share by which the score is raised or, negative, lowered, for `learned` what
    experience adds to the score, negative where the tool failed. For `prerequisite` the term is the
    tool that requires what this one finds, and the weight that tool's score. For `overlay` it is
    the name or pattern of a row for the tool in the operator's file; its weight is 0.
    """

    field: str
    """Field of the tool."""
    term: str
    """Part of the query."""
    via: Via
    """How the query's words were found in the tool."""
    weight: float
    """Share of the query, cosine, or signed boost."""


class Match(msgspec.Struct, frozen=True):
    """One selected tool: its relevance, 0 to 1, and the reasons for it, strongest first."""

    name: str
    """The tool's name."""
    score: float
    """Calibrated relevance of the tool alone, 0 to 1; the order weighs names, clauses,
    prerequisites and experience too, so that scores need not fall."""
    reasons: list[Reason]
    """Why, strongest first."""
    pinned: bool
    """Whether it is included because of `always_keep`."""


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Numbers of tools: sent, distinct, with evidence, and selected."""

    offered: int
    """Tools sent, duplicates included."""
    unique: int
    """Distinct tools."""
    ranked: int
    """Tools with evidence; a function word alone is no evidence."""
    selected: int
    """Names returned."""
    skipped: int = 0
    """Entries that cannot be ranked: a provider's built-ins without a name, and tools whose text
    cannot be compiled, which the notes name; absent if none."""


class TokenCounts(msgspec.Struct, frozen=True):
    """Estimated prompt tokens (four characters each) of all distinct tools and of the selected.

    The selected count as they are shown: in brief with `detail: brief`, whole otherwise. An answer
    without tools saves nothing.
    """

    offered: int
    """Of all distinct tools."""
    selected: int
    """Of the selected tools."""
    saved: int
    """Offered minus selected."""


class SearchAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a search returns; everything after `selected_names` only when asked for."""

    selected_names: list[str]
    """Most relevant first, pins without evidence last; empty on `no_match`."""
    tools: list[ToolDetail] | None = None
    """The selected tools in the same order, with `detail` or `include_definitions`."""
    matches: list[Match] | None = None
    """Each selected tool with score and reasons."""
    outcome: Outcome | None = None
    """`match`, `weak` (some evidence, little confidence) or `no_match`."""
    ranker: str | None = None
    """The ranker that ran."""
    degraded: str | None = None
    """The cheaper ranker that answered within the budget."""
    counts: Counts | None = None
    """How many tools were offered, distinct, ranked, selected."""
    tokens: TokenCounts | None = None
    """Estimated prompt tokens, four characters each."""
    timings_ms: dict[str, float] | None = None
    """Milliseconds by phase."""
    catalog: str | None = None
    """Digest of the tools."""
    notes: list[str] | None = None
    """Deviations from the request, such as a truncated pattern."""


class BatchResult(SearchAnswer, frozen=True, omit_defaults=True, kw_only=True):
    """The answer to one pattern of a batch."""

    pattern: str
    """The pattern of this result; of a conversation, the last user turn."""


class BatchAnswer(msgspec.Struct, frozen=True):
    """One result per pattern, in their order."""

    results: list[BatchResult]
    """In the order they were asked for."""


class Resolution(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tool that a name refers to; several if it is ambiguous, or similar names."""

    query: str
    """What to look for, as written."""
    name: str | None = None
    """The tool's name."""
    matched_by: Literal["exact", "alias"] | None = None
    """`exact`, or `alias`: another spelling, without prefix, or by a name in the definition."""
    ambiguous: list[str] | None = None
    """The tools that match equally well."""
    suggestions: list[str] | None = None
    """Similar names, the most similar first."""


class ResolveAnswer(msgspec.Struct, frozen=True):
    """One result per name, in their order."""

    results: list[Resolution]
    """In the order they were asked for."""


class FilterAnswer(msgspec.Struct, frozen=True):
    """Names of all tools, the most relevant of each list first."""

    kept: list[str]
    """The most relevant first."""
    deferred: list[str]
    """The most relevant first."""


class RelevantTools(msgspec.Struct, frozen=True):
    """The nested list of the newer contract."""

    relevant_tools: list[str]
    """As `selected_names`."""


class GatewayAnswer(SearchAnswer, frozen=True, omit_defaults=True, kw_only=True):
    """The superset that every release of the proxy accepts."""

    success: Literal[True]
    """True."""
    data: RelevantTools
    """The names again, for callers of the newer contract."""


class Tiers(msgspec.Struct, frozen=True):
    """Tools to show in full, tools to show in brief, and the number of the others."""

    tier0: list[ToolDetail]
    """Tools to show with their full definitions."""
    tier1: list[ToolDetail]
    """Tools to show in brief."""
    deferred_count: int
    """Number of tools that are not shown."""


class TierTokens(msgspec.Struct, frozen=True):
    """Estimated prompt tokens: of each tier, of both, of all tools in full, and the difference."""

    tier0: int
    """Of the tools shown whole."""
    tier1: int
    """Of the tools shown in brief."""
    total: int
    """Of both."""
    budget: int
    """The token budget."""
    offered: int
    """Of all distinct tools."""
    saved: int
    """Offered minus selected."""


class HotAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tools of an agent's next turn."""

    tiers: Tiers
    """The tools."""
    tokens: TierTokens
    """Estimated prompt tokens, four characters each."""
    degraded: str = "no"
    """The cheaper ranker that answered within the budget."""


class Quantiles(msgspec.Struct, frozen=True):
    """Percentiles of the latest searches' durations, in milliseconds."""

    p50: float
    """Milliseconds."""
    p95: float
    """Milliseconds."""
    p99: float
    """Milliseconds."""
    count: int
    """How many."""


class CacheCounts(msgspec.Struct, frozen=True):
    """Searches of compiled lists, and of new ones."""

    hits: int
    """Searches of lists that were already compiled."""
    misses: int
    """Searches of lists that were not compiled yet."""


class TokenTotals(msgspec.Struct, frozen=True):
    """Estimated prompt tokens of offered and of selected tools, and the difference."""

    offered: int
    """Of all distinct tools."""
    selected: int
    """Tokens of the tools selected."""
    saved: int
    """Offered minus selected."""


class LearningSize(msgspec.Struct, frozen=True):
    """Number of reported calls, and of the tools they concern."""

    observations: int
    """Number of reported calls."""
    tools: int
    """How many."""


class StatsAnswer(msgspec.Struct, frozen=True):
    """Usage of one tenant in this process since its start."""

    searches: int
    """Since the start."""
    outcomes: dict[str, int]
    """Searches by outcome."""
    latency_ms: dict[str, dict[str, Quantiles]]
    """By ranker and phase, of the latest searches."""
    cache: CacheCounts
    """Cache hits and misses."""
    tokens: TokenTotals
    """Offered, selected and saved since the start."""
    hot: int = 0
    """Calls of `hot`."""
    learning: LearningSize | None = None
    """Amount of feedback, if learning is on."""
