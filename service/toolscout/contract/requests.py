"""Requests about a tool list, and the messages of a conversation in them.

Messages have the shapes of OpenAI, Anthropic, or plain `{role, content}`. Only what a search reads
of them is decoded.
"""

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import msgspec

from toolscout.contract.bounds import (
    MAX_FILE_CHARS,
    MAX_FILES,
    MAX_MESSAGES,
    MAX_NAME_CHARS,
    MAX_NAMES,
    MAX_PARTS,
    MAX_PATTERNS,
    MAX_RECENT,
    MAX_RESOLVED,
    MAX_SIGNALS,
)
from toolscout.contract.fields import (
    ABSENT,
    MAX_TOP_K,
    Amount,
    BudgetTokens,
    Detail,
    FilterValues,
    LatencyBudget,
    Names,
    RankerName,
    Risk,
    Score,
    Signal,
    ToolName,
    TopK,
    Turn,
)


class MessagePart(msgspec.Struct, frozen=True):
    """A part of a message's content: a text, or the call of a tool (`tool_use`)."""

    type: str | None = None
    text: Any = None
    """Only a text is read."""
    name: str | None = None


class CalledFunction(msgspec.Struct, frozen=True):
    """The function of a call."""

    name: str | None = None


class MessageCall(msgspec.Struct, frozen=True):
    """A call in an assistant's message, as OpenAI's chat completions have it."""

    function: CalledFunction | None = None
    custom: CalledFunction | None = None


Parts = Annotated[tuple[MessagePart | None, ...], msgspec.Meta(max_length=MAX_PARTS)]
Calls = Annotated[tuple[MessageCall | None, ...], msgspec.Meta(max_length=MAX_PARTS)]


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation, or an item of OpenAI's Responses API (`function_call`)."""

    role: str | None = None
    type: str | None = None
    content: str | Parts | None = None
    tool_calls: Calls | None = None
    name: str | None = None


Messages = Annotated[tuple[Message, ...], msgspec.Meta(max_length=MAX_MESSAGES)]
"""A conversation, the oldest message first."""


class Filters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which tools may be selected, pins included: alternatives within a list, all lists together.

    Values compare without case. A namespace also covers those below it (`git` and `git.api`); a
    list that is empty or absent filters nothing. Unknown keys are refused: a misspelt filter must
    not let everything through.
    """

    namespaces: FilterValues | None = None
    domains: FilterValues | None = None
    tags: FilterValues | None = None
    sources: FilterValues | None = None
    capabilities: FilterValues | None = None
    only: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=MAX_NAMES)] | None = None
    exclude: Names | None = None
    """Names of tools, as in `tools`; the others are excluded, or these."""
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


FileName = Annotated[str, msgspec.Meta(max_length=MAX_FILE_CHARS)]


class Context(msgspec.Struct, frozen=True):
    """Where the work is done: names of files at hand, and words that tell the field."""

    files: Annotated[tuple[FileName, ...], msgspec.Meta(max_length=MAX_FILES)] | None = None
    signals: Annotated[tuple[Signal, ...], msgspec.Meta(max_length=MAX_SIGNALS)] | None = None


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a question says of its answer, in every interface: `ranking.ask.Ask` has no others.

    Settings, and then defaults, stand for None.
    """

    top_k: TopK | None = None
    always_keep: Names | None = None
    ranker: RankerName | None = None
    filters: Filters | None = None
    min_score: Score | None = None
    no_match_below: Score | None = None
    budget_tokens: BudgetTokens | None = None
    detail: Detail | None = None
    """The level of detail of the selected tools, which the budget pays for."""
    include_definitions: bool | None = None
    session: Session | None = None
    context: Context | None = None
    prerequisites: bool | None = None
    """Whether tools that find required identifiers are selected too."""


class SearchOptions(TypedDict, total=False):
    """The same as arguments of `Engine.search`, but those of answers over a network."""

    always_keep: Sequence[str]
    ranker: RankerName | None
    filters: Filters | None
    min_score: float
    budget_tokens: int | None
    detail: Detail | None
    session: Session | None
    context: Context | None
    no_match_below: float | None
    prerequisites: bool


class SearchFields(Options, frozen=True, kw_only=True):
    """What every search takes beside its query.

    `tools` stays raw: its hash finds a catalog that was compiled before.
    """

    max_tools: TopK | None = None
    tools: msgspec.Raw = ABSENT
    catalog: str | None = None
    explain: bool | None = None
    latency_budget_ms: LatencyBudget | None = None
    complete_chain: bool | None = None


class SearchRequest(SearchFields, frozen=True, kw_only=True):
    """The envelope of a search, in either contract: `pattern`/`top_k` or `query`/`max_tools`.

    A conversation (`messages`) may replace the pattern.
    """

    pattern: str | None = None
    query: str | None = None
    messages: Messages | None = None
    turn: Turn | None = None
    """Identifies the turn of a conversation; feedback may name it instead of the pattern."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What one search asks: a pattern or a conversation, and the turn to which it belongs."""

    pattern: str | None = None
    messages: Messages | None = None
    turn: Turn | None = None


class BatchRequest(SearchFields, frozen=True, kw_only=True):
    """Several searches of the same tools; the latency budget is for all of them together.

    `messages` and `turn` belong to single patterns, so here they are refused.
    """

    patterns: Annotated[
        tuple[str | Question, ...], msgspec.Meta(min_length=1, max_length=MAX_PATTERNS)
    ]
    messages: None = None
    turn: None = None


class ResolveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Names as somebody wrote them, to be found among tools."""

    names: Annotated[tuple[ToolName, ...], msgspec.Meta(max_length=MAX_RESOLVED)]
    tools: msgspec.Raw = ABSENT
    catalog: str | None = None


class HotRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent should have at hand before its model runs."""

    message: str | None = None
    """What the user says; without it, `context` and `session` speak alone."""
    tools: msgspec.Raw = ABSENT
    catalog: str | None = None
    tier0: Names | None = None
    """Tools that are always shown, the most important first."""
    token_budget: BudgetTokens | None = None
    filters: Filters | None = None
    session: Session | None = None
    context: Context | None = None
    no_match_below: Score | None = None


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
