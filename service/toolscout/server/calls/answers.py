"""Writing the answer of a search: names, explanations, headers."""

import msgspec
import numpy as np

from toolscout.contract import (
    Counts,
    GatewayAnswer,
    RelevantTools,
    SearchAnswer,
    TokenCounts,
)
from toolscout.contract.bounds import MAX_SHOWN
from toolscout.errors import FieldError, InvalidRequest
from toolscout.index.catalog import Catalog
from toolscout.index.details import cost_of, details
from toolscout.index.tool_list import ToolList
from toolscout.ranking.ask import Ask, Decision
from toolscout.ranking.explain import explain, explain_cold
from toolscout.server.http.refusals import too_long
from toolscout.server.observe.trace import Trace
from toolscout.settings import Settings
from toolscout.text.domains import Taxonomy
from toolscout.tools.cost import tool_tokens

SHOWN_AT_ONCE = 100
"""Selected tools that are explained or shown on the event loop; more take milliseconds, in a
thread."""

BYTES_PER_TOOL = 2_048
"""Bytes of shown tools that take as long as one tool."""

BRIEF_BYTES = 256
"""Bytes of a tool in an answer that does not show it whole, about."""

_encode = msgspec.json.Encoder().encode


def plain(decision: Decision, newer_contract: bool) -> bytes:
    """Exactly the selected names, or the superset that callers of the newer contract read."""
    if not newer_contract:
        return _encode({"selected_names": decision.names})
    return _encode(_superset(SearchAnswer(decision.names)))


def shown_bytes(source: Catalog | ToolList, decision: Decision, ask: Ask) -> int:
    """Estimate the bytes of the tools that an answer shows, before it is built."""
    if not (ask.definitions or ask.detail == "full"):
        return BRIEF_BYTES * len(decision.rows)
    times = int(ask.definitions) + int(ask.detail == "full")
    if isinstance(source, Catalog):
        return times * sum(len(source.wires[row]) for row in decision.rows)
    return times * sum(4 * tool_tokens(source.tools[row]) for row in decision.rows)


def check_shown(shown: int, nbytes: int, settings: Settings) -> None:
    """Check how many tools an answer would show, and how many bytes they are.

    Raises:
        InvalidRequest: there are too many of them, or of their bytes.
    """
    if shown > MAX_SHOWN:
        message = f"at most {MAX_SHOWN} tools are explained or shown, got {shown}"
        raise InvalidRequest(f"top_k: {message}", (FieldError("top_k", message),))
    if nbytes > settings.max_answer_bytes:
        raise too_long(nbytes, settings.max_answer_bytes)


def rich(
    trace: Trace,
    source: Catalog | ToolList,
    ask: Ask,
    taxonomy: Taxonomy,
    *,
    explained: bool,
    newer_contract: bool,
) -> bytes:
    """The names with the tools behind them, with what led to them, or with both."""
    answer = with_reasons(trace, source, ask, taxonomy, explained=explained)
    return _encode(_superset(answer) if newer_contract else answer)


def with_reasons(
    trace: Trace, source: Catalog | ToolList, ask: Ask, taxonomy: Taxonomy, *, explained: bool
) -> SearchAnswer:
    """The names, the tools behind them and what led to them, as far as they were asked for."""
    assert trace.decision is not None
    answer = SearchAnswer(trace.decision.names)
    if explained:
        answer = explanation(trace, trace.decision, source, ask)
    if ask.detail or ask.definitions:
        shown = details(source, trace.decision.rows, taxonomy, ask.detail, ask.definitions)
        answer = msgspec.structs.replace(answer, tools=shown)
    return answer


def explanation(
    trace: Trace, decision: Decision, source: Catalog | ToolList, ask: Ask
) -> SearchAnswer:
    """The names with everything that led to them."""
    ranking = decision.ranking
    if isinstance(source, Catalog):
        matches, costs = explain(source, decision), source.tokens
    else:
        matches = explain_cold(source, decision)
        costs = np.array([tool_tokens(tool) for tool in source.tools], np.int64)
    tool_of = source.tool if isinstance(source, Catalog) else source.tools.__getitem__
    offered = int(costs.sum())
    selected = sum(cost_of(tool_of(row), ask.detail, ask.definitions) for row in decision.rows)
    return SearchAnswer(
        selected_names=decision.names,
        matches=matches,
        outcome=decision.outcome,
        ranker=ranking.ranker,
        degraded=decision.degraded or "no",
        counts=Counts(
            offered=trace.offered,
            unique=trace.unique,
            ranked=int((ranking.scores > 0).sum()),
            selected=len(decision.names),
            passed_over=trace.passed_over,
        ),
        tokens=TokenCounts(offered, selected, offered - selected),
        timings_ms=trace.shown_ms(),
        catalog=trace.catalog,
        notes=[ranking.note] if ranking.note else [],
    )


def _superset(answer: SearchAnswer) -> GatewayAnswer:
    """The same answer in the shape that every release of the proxy reads."""
    fields = msgspec.structs.asdict(answer)
    return GatewayAnswer(success=True, data=RelevantTools(answer.selected_names), **fields)


def headers(trace: Trace) -> list[tuple[bytes, bytes]]:
    """What curl and proxies see of a decision."""
    decision = trace.decision
    assert decision is not None
    selection = (
        f"{trace.unique}->{len(decision.names)}; ranker={decision.ranking.ranker}; "
        f"cache={trace.cache}; outcome={decision.outcome}; degraded={decision.degraded or 'no'}"
    )
    return [*common_headers(trace), (b"x-tool-selection", selection.encode())]


def common_headers(trace: Trace) -> list[tuple[bytes, bytes]]:
    """Timings and the digest of the tools, for every answer about tools."""
    timing = ", ".join(f"{phase};dur={spent:.3f}" for phase, spent in trace.shown_ms().items())
    return [
        (b"server-timing", timing.encode()),
        (b"x-catalog-digest", trace.catalog.encode()),
    ]
