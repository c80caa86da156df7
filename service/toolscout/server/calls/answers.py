"""Write the answer of a search: names, explanations, headers."""

from functools import partial

import msgspec

from toolscout.contract.answers import (
    Counts,
    GatewayAnswer,
    RelevantTools,
    SearchAnswer,
    TokenCounts,
)
from toolscout.contract.bounds import MAX_ANSWER_BYTES, MAX_SHOWN
from toolscout.index.details import count_shown_cost, describe_tools
from toolscout.ranking.ask import Decision
from toolscout.ranking.explain import add_evidence, explain, write_notes
from toolscout.server.compiling.work_threads import run_inline_or_in_thread
from toolscout.server.http.problems import refuse_field, refuse_long
from toolscout.server.observe.record import Trace

SHOWN_AT_ONCE = 100
"""Maximum number of tools explained or shown on the event loop; more are in a thread."""

BYTES_PER_TOOL = 2_048
"""Bytes of shown tools that take as long as one tool."""

BRIEF_BYTES = 256
"""Approximate bytes of a tool in an answer that does not show it whole."""

_encode = msgspec.json.Encoder().encode


class Showing:
    """Makes answers from decisions, with reasons and tools within their limits."""

    def __init__(self) -> None:
        self._tools = self._nbytes = 0
        """Tools and bytes shown so far."""

    async def answer(self, trace: Trace, decision: Decision, *, explained: bool) -> SearchAnswer:
        """Return the names, with the requested details and explanations.

        Raises:
            InvalidRequest: there are too many tools to show, or they have too many bytes.
        """
        ask = decision.ranking.ask
        if not (explained or ask.detail or ask.include_definitions):
            return SearchAnswer(decision.names)
        nbytes = _estimate_shown_bytes(decision)
        self._tools = self._tools + len(decision.names)
        self._nbytes = self._nbytes + nbytes
        if self._tools > MAX_SHOWN:
            message = f"at most {MAX_SHOWN} tools are explained or shown, got {self._tools}"
            raise refuse_field("top_k", message)
        if self._nbytes > MAX_ANSWER_BYTES:
            raise refuse_long(self._nbytes, MAX_ANSWER_BYTES)
        show = partial(_show, trace, decision, explained=explained)
        return await run_inline_or_in_thread(
            max(len(decision.names), nbytes // BYTES_PER_TOOL), SHOWN_AT_ONCE, show
        )


def encode(answer: SearchAnswer, *, newer_contract: bool) -> bytes:
    """Encode an answer; for the newer contract in a shape that every release reads."""
    if not newer_contract:
        return _encode(answer)
    fields = msgspec.structs.asdict(answer)
    return _encode(GatewayAnswer(success=True, data=RelevantTools(answer.selected_names), **fields))


def _estimate_shown_bytes(decision: Decision) -> int:
    """Estimate the bytes of the tools that an answer shows, before it is built."""
    ask = decision.ranking.ask
    if not (ask.include_definitions or ask.detail == "full"):
        return BRIEF_BYTES * len(decision.rows)
    times = int(ask.include_definitions) + int(ask.detail == "full")
    return times * sum(map(decision.ranking.source.measure_tool, decision.rows))


def _show(trace: Trace, decision: Decision, *, explained: bool) -> SearchAnswer:
    ask = decision.ranking.ask
    answer = _explain(trace, decision) if explained else SearchAnswer(decision.names)
    if ask.detail or ask.include_definitions:
        source = decision.ranking.source
        shown = describe_tools(
            source, decision.rows, ask.detail, ask.include_definitions, ask.filters
        )
        answer = msgspec.structs.replace(answer, tools=shown)
    return answer


def _explain(trace: Trace, decision: Decision) -> SearchAnswer:
    """Return the explained answer."""
    ranking = decision.ranking
    ask = ranking.ask
    source = ranking.source
    offered = int(source.tokens.sum())
    selected = sum(
        count_shown_cost(source, row, ask.detail, ask.include_definitions, ask.filters)
        for row in decision.rows
    )
    return SearchAnswer(
        selected_names=decision.names,
        matches=explain(decision),
        outcome=decision.outcome,
        ranker=ranking.ranker,
        degraded=decision.degraded or "no",
        counts=Counts(
            offered=trace.offered,
            unique=trace.unique,
            ranked=add_evidence(ranking),
            selected=len(decision.names),
            skipped=trace.skipped.entries + len(source.skipped),
        ),
        # Whoever gets no tool shows all or none: nothing was saved by choosing.
        tokens=TokenCounts(offered, selected, offered - selected if decision.rows else 0),
        timings_ms=trace.measure_ms(),
        catalog=trace.catalog,
        notes=[
            *([f"ignored: {trace.ignored}"] if trace.ignored else []),
            *trace.skipped.notes,
            *write_notes(ranking),
        ],
    )


def write_headers(trace: Trace) -> list[tuple[bytes, bytes]]:
    """Return the headers of a decision."""
    decision = trace.decision
    assert decision is not None
    selection = (
        f"{trace.unique}->{len(decision.names)}; ranker={decision.ranking.ranker}; "
        f"cache={trace.cache}; outcome={decision.outcome}; degraded={decision.degraded or 'no'}"
    )
    if trace.ignored:
        selection += f"; ignored={trace.ignored}"
    if trace.skipped.entries:
        selection += f"; skipped={trace.skipped.entries}"
    return [*write_common_headers(trace), (b"x-tool-selection", selection.encode())]


def write_common_headers(trace: Trace) -> list[tuple[bytes, bytes]]:
    """Return the headers of every answer about tools: timings and the digest."""
    timing = ", ".join(f"{phase};dur={spent:.3f}" for phase, spent in trace.measure_ms().items())
    return [
        (b"server-timing", timing.encode()),
        (b"x-catalog-digest", trace.catalog.encode()),
    ]
