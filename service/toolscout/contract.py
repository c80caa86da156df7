"""The wire: request and response structs, and every bound on a field, in one place.

Bodies arrive as bytes. The envelope keeps `tools` raw, so a catalogue that is already known
is found by the hash of those bytes and no tool is parsed.
"""

import enum
from typing import Annotated, Any, Literal

import msgspec

RankerName = Literal["auto", "regex", "bm25", "semantic", "hybrid", "rrf"]
Outcome = Literal["match", "weak", "no_match"]
Detail = Literal["names", "brief", "full"]
Risk = Literal["read_only", "write_local", "write_remote", "destructive"]

DEFAULT_TOP_K = 5
MAX_TOP_K = 1_000_000_000
MAX_NAME_CHARS = 1_024
MAX_FILTER_VALUES = 1_000
MAX_NAMES = 100_000
MAX_PATTERNS = 32
MAX_RECENT = 1_000
MAX_FILES = 1_000
MAX_SIGNALS = 100
MAX_SIGNAL_CHARS = 200
MAX_RESOLVED = 200
MAX_EVENTS = 1_000
MAX_EVENT_CHARS = 4_096
MAX_BUDGET_TOKENS = 1_000_000_000
MIN_LATENCY_BUDGET_MS = 1
MAX_LATENCY_BUDGET_MS = 60_000

ToolName = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_CHARS)]
# Whole numbers, but decoded as floats: some callers' integers went through float64.
TopK = Annotated[float, msgspec.Meta(ge=1, le=MAX_TOP_K)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=MAX_TOP_K)]
Signal = Annotated[str, msgspec.Meta(max_length=MAX_SIGNAL_CHARS)]
BudgetTokens = Annotated[float, msgspec.Meta(ge=0, le=MAX_BUDGET_TOKENS)]
Score = Annotated[float, msgspec.Meta(ge=0, le=1)]
LatencyBudget = Annotated[float, msgspec.Meta(ge=MIN_LATENCY_BUDGET_MS, le=MAX_LATENCY_BUDGET_MS)]


FilterValues = Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_FILTER_VALUES)]
Names = Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_NAMES)]


ABSENT = msgspec.Raw(b"")
"""An optional raw field that was not sent."""


class Tool(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool as a caller sends it. `name` identifies it; everything else is optional text."""

    name: ToolName
    description: str | None = None
    definition: msgspec.Raw = ABSENT
    parameters: msgspec.Raw = ABSENT
    namespace: str | None = None
    domain: str | None = None
    tags: tuple[str, ...] | None = None
    keywords: tuple[str, ...] | None = None
    source: str | None = None
    capabilities: tuple[str, ...] | None = None
    risk: Risk | None = None
    annotations: msgspec.Raw = ABSENT
    status: Literal["available", "unavailable"] | None = None
    required_keys: tuple[str, ...] | None = None


RAW_FIELDS = ("definition", "parameters", "annotations")
"""The fields of a tool that stay raw JSON."""


def is_absent(raw: msgspec.Raw) -> bool:
    """Whether a raw field was left out or sent as null, which mean the same."""
    return len(memoryview(raw)) <= 4 and bytes(raw) in (b"", b"null")


class Filters(msgspec.Struct, frozen=True):
    """Which tools may be selected, pins included: alternatives within a list, all lists together.

    Values compare without case. A namespace also covers those below it (`git` and `git.api`); a
    list that is empty or absent filters nothing.
    """

    namespaces: FilterValues | None = None
    domains: FilterValues | None = None
    tags: FilterValues | None = None
    sources: FilterValues | None = None
    capabilities: FilterValues | None = None
    exclude: Names | None = None
    """Names of tools, as they stand in `tools`."""
    max_risk: Risk | None = None


class Use(msgspec.Struct, frozen=True):
    """How a tool has served in a session: calls that worked, calls that failed, and when last."""

    name: ToolName
    successes: Amount | None = None
    failures: Amount | None = None
    turns_ago: Amount | None = None


class Session(msgspec.Struct, frozen=True):
    """What happened before in a conversation; it needs no memory on this side.

    `expanded` names tools whose definitions the model was shown, the latest last.
    """

    id: Annotated[str, msgspec.Meta(max_length=MAX_NAME_CHARS)] | None = None
    recent: Annotated[tuple[Use, ...], msgspec.Meta(max_length=MAX_RECENT)] | None = None
    expanded: Names | None = None


class Context(msgspec.Struct, frozen=True):
    """Where the work is done: names of files at hand, and words that tell the field."""

    files: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_FILES)] | None = None
    signals: Annotated[tuple[Signal, ...], msgspec.Meta(max_length=MAX_SIGNALS)] | None = None


class SearchFields(msgspec.Struct, frozen=True, kw_only=True):
    """What every search takes beside its query.

    `tools` stays raw: its hash finds a catalogue that was compiled before.
    """

    top_k: TopK | None = None
    max_tools: TopK | None = None
    always_keep: tuple[str, ...] | None = None
    tools: msgspec.Raw = ABSENT
    catalog: str | None = None
    ranker: RankerName | None = None
    explain: bool | None = None
    latency_budget_ms: LatencyBudget | None = None
    filters: Filters | None = None
    min_score: Score | None = None
    budget_tokens: BudgetTokens | None = None
    detail: Detail | None = None
    include_definitions: bool | None = None
    session: Session | None = None
    context: Context | None = None


class SearchRequest(SearchFields, frozen=True, kw_only=True):
    """The envelope of a search, in either contract: `pattern`/`top_k` or `query`/`max_tools`."""

    pattern: str | None = None
    query: str | None = None

    @property
    def is_newer(self) -> bool:
        """Whether the caller speaks the newer contract and reads its answer."""
        return self.query is not None or self.max_tools is not None


class BatchRequest(SearchFields, frozen=True, kw_only=True):
    """Several searches of the same tools; the latency budget is for all of them together."""

    patterns: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=MAX_PATTERNS)]


class ResolveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Names as somebody wrote them, to be found among tools."""

    names: Annotated[tuple[ToolName, ...], msgspec.Meta(max_length=MAX_RESOLVED)]
    tools: msgspec.Raw = ABSENT
    catalog: str | None = None


class FilterRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the tools to keep in front of a model, by shared words alone."""

    query: str
    tools: msgspec.Raw = ABSENT
    catalog: str | None = None
    min_tools: Annotated[float, msgspec.Meta(ge=0, le=MAX_TOP_K)] | None = None
    max_tools: Annotated[float, msgspec.Meta(ge=1, le=MAX_TOP_K)] | None = None
    target_ratio: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    always_keep: Names | None = None
    recent: Names | None = None
    expanded: Names | None = None


EventText = Annotated[str, msgspec.Meta(max_length=MAX_EVENT_CHARS)]


class FeedbackEvent(msgspec.Struct, frozen=True, kw_only=True):
    """That a tool was used for a pattern, and whether it did what was wanted."""

    pattern: EventText
    tool: ToolName
    success: bool
    duration_ms: Annotated[float, msgspec.Meta(ge=0)] | None = None
    session: EventText | None = None
    source: EventText | None = None
    catalog: str | None = None
    """Digest of the list that the tool was in; else the latest one with a tool of that name."""


class FeedbackBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Several events at once."""

    events: Annotated[tuple[FeedbackEvent, ...], msgspec.Meta(min_length=1, max_length=MAX_EVENTS)]


class FeedbackAnswer(msgspec.Struct, frozen=True):
    """How many events were kept."""

    accepted: int


class LearnedTool(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of one tool from use."""

    name: str
    successes: int
    failures: int
    success_rate: float
    patterns: int
    """Typical patterns that are kept of it."""
    typical_duration_ms: float | None = None
    content: str | None = None
    """Digest of the tool's content, where that was known."""


class LearningAnswer(msgspec.Struct, frozen=True):
    """What one tenant's feedback came to; the most used tools first."""

    observations: int
    tools: list[LearnedTool]


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


class Reason(msgspec.Struct, frozen=True):
    """One piece of evidence: what of the query was found in which field, and how.

    `weight` is the share of the query that it accounts for, 0 to 1; for `semantic` the cosine. For
    `boost` it is the share by which the score is raised or, negative, lowered.
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


class Parameter(msgspec.Struct, frozen=True):
    """One parameter of a tool."""

    name: str
    required: bool


class ToolDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    """A selected tool as far as it was asked for.

    `names`: the name. `brief`: a summary (the first sentence, 200 characters at most), parameters,
    risk and what else is known, estimated tokens of the brief and of the whole tool. `full`: the
    whole description and the JSON Schema of the input besides. `definition` comes with
    `include_definitions`, as it was sent.
    """

    name: str
    summary: str | None = None
    parameters: list[Parameter] | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    risk: Risk | None = None
    requires_full_schema: bool | None = None
    """Whether a model should see the whole schema before it calls: it writes elsewhere or
    destroys."""
    requires_confirmation: bool | None = None
    """Whether a person should confirm a call: it destroys."""
    namespace: str | None = None
    domain: str | None = None
    tags: tuple[str, ...] | None = None
    source: str | None = None
    capabilities: tuple[str, ...] | None = None
    required_keys: tuple[str, ...] | None = None
    tokens_brief: int | None = None
    tokens_full: int | None = None
    definition: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Counts(msgspec.Struct, frozen=True):
    """How many tools were sent, distinct, with any evidence, and selected."""

    offered: int
    unique: int
    ranked: int
    selected: int


class TokenCounts(msgspec.Struct, frozen=True):
    """Estimated prompt tokens (four characters each) of all distinct tools and of the selected.

    The selected count as they are shown: in brief with `detail: brief`, whole otherwise.
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
    """What a written name stands for: one tool, several, or at best something similar."""

    query: str
    name: str | None = None
    matched_by: Literal["exact", "alias"] | None = None
    """To the letter, or in another spelling, without its prefix, or by a name in the definition."""
    ambiguous: list[str] | None = None
    """The tools it fits alike."""
    suggestions: list[str] | None = None
    """Similar names, the most similar first, when it fits none."""


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
