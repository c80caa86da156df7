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
    """`text` and `input_text` are read, and the calls `tool_use` and `function_call`."""
    text: Any = None
    """The text of a text part."""
    name: str | None = None
    """The called tool."""


class CalledFunction(msgspec.Struct, frozen=True):
    """The function of a call."""

    name: str | None = None
    """Its name."""


class MessageCall(msgspec.Struct, frozen=True):
    """A call in an assistant's message, as OpenAI's chat completions have it."""

    function: CalledFunction | None = None
    """The called function."""
    custom: CalledFunction | None = None
    """The called custom tool."""


Parts = Annotated[tuple[MessagePart | None, ...], msgspec.Meta(max_length=MAX_PARTS)]
Calls = Annotated[tuple[MessageCall | None, ...], msgspec.Meta(max_length=MAX_PARTS)]


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation, or an item of OpenAI's Responses API (`function_call`)."""

    role: str | None = None
    """`user` asks, `assistant` calls tools; messages of others are not read."""
    type: str | None = None
    """Of an item of the Responses API, such as `function_call`."""
    content: str | Parts | None = None
    """A text, or content parts; texts and calls are read."""
    tool_calls: Calls | None = None
    """Calls of an assistant, as OpenAI's chat completions send them."""
    name: str | None = None
    """The called tool, of a `function_call`."""


Messages = Annotated[tuple[Message, ...], msgspec.Meta(max_length=MAX_MESSAGES)]
"""A conversation, the oldest message first."""


class Filters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which tools may be selected, pins included: alternatives within a list, all lists together.

    Values compare without case. A namespace also covers those below it (`git` and `git.api`); a
    list that is empty or absent filters nothing. Unknown keys are refused: a misspelt filter must
    not let everything through.
    """

    namespaces: FilterValues | None = None
    """A namespace covers those below it."""
    domains: FilterValues | None = None
    """Given or inferred: code, repo, infra, data, comms, agents."""
    tags: FilterValues | None = None
    """Words that group tools."""
    sources: FilterValues | None = None
    """Where tools come from."""
    capabilities: FilterValues | None = None
    """What tools can do, in terms that the caller defines; of tools without any, `read`, `write` or
    `delete` by their risk, for filters."""
    only: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=MAX_NAMES)] | None = None
    """Names of the tools that may be selected, shown or suggested; all others may not."""
    exclude: Names | None = None
    """Names that must not be selected."""
    max_risk: Risk | None = None
    """The highest risk that may be selected."""


class Use(msgspec.Struct, frozen=True):
    """How a tool has served in a session: calls that worked, calls that failed, and when last."""

    name: ToolName
    """A tool's name."""
    successes: Amount | None = None
    """Calls that worked."""
    failures: Amount | None = None
    """Calls that failed."""
    turns_ago: Amount | None = None
    """Turns since the last call."""


class Session(msgspec.Struct, frozen=True):
    """What happened before in a conversation; it needs no memory on this side.

    `expanded` names tools whose definitions the model was shown, the latest last.
    """

    id: Annotated[str, msgspec.Meta(max_length=MAX_NAME_CHARS)] | None = None
    """The caller's identifier of the conversation; it does not affect ranking."""
    recent: Annotated[tuple[Use, ...], msgspec.Meta(max_length=MAX_RECENT)] | None = None
    """Results of recent calls, by tool."""
    expanded: Names | None = None
    """Tools whose definitions the model was shown, the latest last."""


FileName = Annotated[str, msgspec.Meta(max_length=MAX_FILE_CHARS)]


class Context(msgspec.Struct, frozen=True):
    """Where the work is done: names of files at hand, and words that tell the field."""

    files: Annotated[tuple[FileName, ...], msgspec.Meta(max_length=MAX_FILES)] | None = None
    """Names of files that the work is about."""
    signals: Annotated[tuple[Signal, ...], msgspec.Meta(max_length=MAX_SIGNALS)] | None = None
    """Words that indicate the domain."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a question says of its answer, in every interface: `ranking.ask.Ask` has no others.

    Settings, and then defaults, stand for None.
    """

    top_k: TopK | None = None
    """Most names to return (5), `always_keep` included."""
    always_keep: Names | None = None
    """Names to include in every match if they are in `tools`."""
    ranker: RankerName | None = None
    """The ranker to use; `auto` unless the service is configured otherwise."""
    filters: Filters | None = None
    """Restricts which tools may be selected; applied before ranking, to pins as well."""
    min_score: Score | None = None
    """Leaves out tools with a lower calibrated score, pins excepted."""
    no_match_below: Score | None = None
    """Calibrated score that the best tool needs for a match (0.02)."""
    budget_tokens: BudgetTokens | None = None
    """Prompt tokens to fill in rank order, skipping what does not fit."""
    detail: Detail | None = None
    """Adds `tools`, the selected ones as a model is shown them."""
    include_definitions: bool | None = None
    """Adds `tools` with the definitions as they were sent."""
    session: Session | None = None
    """Calls that succeeded and failed in this conversation; a bounded boost."""
    context: Context | None = None
    """Files and words that tell the domain of the work; tools of other domains rank lower."""
    prerequisites: bool | None = None
    """Whether to select tools that find what other selected tools require, such as an id (default:
    the setting)."""


class SearchOptions(TypedDict, total=False):
    """The same as keyword arguments of `Engine.search`, without what only the wire has."""

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
    """`top_k` in the newer contract."""
    tools: msgspec.Raw = ABSENT
    """The tools to choose from."""
    catalog: str | None = None
    """Digest from an earlier answer's `X-Catalog-Digest`, or a registered name, instead of `tools`.
    """
    explain: bool | None = None
    """Adds scores, reasons, counts, tokens and timings."""
    latency_budget_ms: LatencyBudget | None = None
    """Milliseconds within which to answer, by a cheaper ranker if necessary (150; of tools that are
    not compiled yet 800)."""
    complete_chain: bool | None = None
    """Fills free slots with the next tools of a learned chain."""


class SearchRequest(SearchFields, frozen=True, kw_only=True):
    """The envelope of a search, in either contract: `pattern`/`top_k` or `query`/`max_tools`.

    A conversation (`messages`) may replace the pattern.
    """

    pattern: str | None = None
    """Prose, keywords, a tool name or a regular expression."""
    query: str | None = None
    """Name of `pattern` in the newer contract."""
    messages: Messages | None = None
    """A conversation instead of `pattern`, in the shape of OpenAI, Anthropic or `{role, content}`:
    the last user turn asks, earlier ones and the tools called lately weigh less."""
    turn: Turn | None = None
    """The caller's identifier of this turn; feedback may name it instead of the pattern for an
    hour."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What one search asks: a pattern or a conversation, and the turn to which it belongs."""

    pattern: str | None = None
    """The model's query in any form."""
    messages: Messages | None = None
    """A conversation instead of `pattern`, in the shape of OpenAI, Anthropic or `{role, content}`:
    the last user turn asks, earlier ones and the tools called lately weigh less."""
    turn: Turn | None = None
    """The caller's identifier of this turn; feedback may name it instead of the pattern for an
    hour."""


class BatchRequest(SearchFields, frozen=True, kw_only=True):
    """Several searches of the same tools; the latency budget is for all of them together.

    `messages` and `turn` belong to single patterns, so here they are refused.
    """

    patterns: Annotated[
        tuple[str | Question, ...], msgspec.Meta(min_length=1, max_length=MAX_PATTERNS)
    ]
    """Patterns to search for, or questions with `messages` or a `turn`; each gets a result."""
    messages: None = None
    """Refused: `messages` belong to an entry of `patterns`."""
    turn: None = None
    """Refused: a `turn` belongs to an entry of `patterns`."""


class ResolveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Names as somebody wrote them, to be found among tools."""

    names: Annotated[tuple[ToolName, ...], msgspec.Meta(max_length=MAX_RESOLVED)]
    """Names in any spelling."""
    tools: msgspec.Raw = ABSENT
    """The tools to choose from."""
    catalog: str | None = None
    """Digest from an earlier answer's `X-Catalog-Digest`, or a registered name, instead of `tools`.
    """


class HotRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent should have at hand before its model runs."""

    message: str | None = None
    """The user's message; without it, `context` and `session` decide, or the core tools are
    returned."""
    tools: msgspec.Raw = ABSENT
    """The tools to choose from."""
    catalog: str | None = None
    """Digest from an earlier answer's `X-Catalog-Digest`, or a registered name, instead of `tools`.
    """
    tier0: Names | None = None
    """Tools that are always shown, the most important first."""
    token_budget: BudgetTokens | None = None
    """Tokens of the definitions, both tiers (3,800)."""
    filters: Filters | None = None
    """Restricts which tools may be selected; applied before ranking, to pins as well."""
    session: Session | None = None
    """Calls that succeeded and failed in this conversation; a bounded boost."""
    context: Context | None = None
    """Files and words that tell the domain of the work; tools of other domains rank lower."""
    no_match_below: Score | None = None
    """Calibrated score that the best tool needs for a match (0.02)."""


class FilterRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the tools to keep in front of a model, by shared words alone."""

    query: str
    """The text to compare tools with."""
    tools: msgspec.Raw = ABSENT
    """The tools to choose from."""
    catalog: str | None = None
    """Digest from an earlier answer's `X-Catalog-Digest`, or a registered name, instead of `tools`.
    """
    min_tools: Annotated[float, msgspec.Meta(ge=0, le=MAX_TOP_K, multiple_of=1)] | None = None
    """Minimum number of tools to keep (5)."""
    max_tools: TopK | None = None
    """Maximum number of tools to keep (25), besides `always_keep`."""
    target_ratio: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """Share of the tools to keep (0.8)."""
    always_keep: Names | None = None
    """Names to include in every match if they are in `tools`."""
    recent: Names | None = None
    """Names of recently called tools."""
    expanded: Names | None = None
    """Names of tools that the model was shown."""
