"""Trace requests, and record them: metrics, usage statistics and log lines.

A request appends one tuple. A few of them are processed together, and what is left several times a
second and before any figures are read: one by one, with caches cold from ranking, it took a sixth
of a request.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import ceil
from time import perf_counter
from typing import NamedTuple

import numpy as np
import prometheus_client

from toolscout.common.hashing import hash_text
from toolscout.contract import answers
from toolscout.contract.fields import DEFAULT_TOP_K
from toolscout.contract.learning import FeedbackEvent
from toolscout.index.catalog import Catalog
from toolscout.ranking.ask import Ask, Decision
from toolscout.server.http.request import LimitedRequest
from toolscout.server.observe.log import LineWriter
from toolscout.server.observe.metrics import Metrics
from toolscout.tools.conversion import NONE_SKIPPED, Skipped

NO_QUESTION = Ask(pattern="")


@dataclass(slots=True)
class Trace:
    """Everything that headers, metrics and log need of a request."""

    tenant: str = ""
    space: str = ""
    """The tools that the caller's key sees: the tenant's, or a part; see `tools.filters`."""
    key: str = ""
    """The name of the caller's key: the beginning of its hash."""
    ask: Ask = NO_QUESTION
    """The question of a search."""
    top_k: int = DEFAULT_TOP_K
    cache: str = "-"
    catalog: str = ""
    offered: int = 0
    skipped: Skipped = NONE_SKIPPED
    unique: int = 0
    ignored: str = ""
    """Unknown fields of the request."""
    decision: Decision | None = None
    source: Catalog | None = None
    """The catalog of the decision, if it was compiled."""
    degraded: str = ""
    """The cheaper ranker that answered, if the call is no search."""
    turn: str = ""
    reports: Sequence[FeedbackEvent] = ()
    """The events of a request of feedback."""
    parts: Sequence["Trace"] = ()
    """The searches of a batch."""
    tiers: answers.TierTokens | None = None
    """The tokens in an answer of `hot`."""
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds per phase."""
    started: float = field(default_factory=perf_counter)
    coarse: bool = False
    """Whether timings are whole milliseconds: tenants share the process's word caches, and
    microseconds would reveal which words others have used.
    """

    def part(self, ask: Ask) -> "Trace":
        """Return a trace for one of several questions about the same tools."""
        return replace(self, ask=ask, phases={})

    def add_parts(self, parts: Sequence["Trace"]) -> None:
        """Count decisions as searches of the tools that were found."""
        for part in parts:
            part.cache = self.cache
            part.catalog = self.catalog
            part.offered = self.offered
            part.unique = self.unique
            part.skipped = self.skipped
            part.ignored = self.ignored
        self.parts = parts

    def measure_ms(self) -> dict[str, float]:
        """Return the milliseconds per phase for the caller, and in all, with every wait."""
        phases = self.phases | {"total": perf_counter() - self.started}
        if self.coarse:
            return {phase: ceil(spent * 1_000) for phase, spent in phases.items()}
        return {phase: round(spent * 1_000, 3) for phase, spent in phases.items()}


LATEST = 2_048
"""Number of latest searches per ranker and phase for the quantiles."""


class _Figures:
    def __init__(self) -> None:
        self.hot = 0
        self.outcomes: Counter[str] = Counter()
        self.cache: Counter[str] = Counter()
        self.times: dict[tuple[str, str], deque[float]] = defaultdict(lambda: deque(maxlen=LATEST))
        self.offered = 0
        self.selected = 0

    def time(self, ranker: str, phases: dict[str, float]) -> None:
        for phase, spent in phases.items():
            self.times[ranker, phase].append(spent)


def _calculate_quantiles(seconds: deque[float], digits: int) -> answers.Quantiles:
    milliseconds = np.array(seconds) * 1_000
    if not digits:
        milliseconds = np.ceil(milliseconds)
    p50, p95, p99 = np.quantile(milliseconds, (0.5, 0.95, 0.99)).round(digits).tolist()
    return answers.Quantiles(p50, p95, p99, len(seconds))


MAX_PENDING = 8
"""Number of records that are processed together. More would hold up whoever comes next: 170 of
them, as many as come in 0.1 s, take 3 ms."""

SEARCH = "search"

ALWAYS = ("status", "total_ms")
"""Fields of a line that are there even if they are 0."""


Counted = Counter[tuple[prometheus_client.Counter, str]]
"""What is added to counters once a few records were read, by counter and label."""


class RequestRecord(NamedTuple):
    """One answered request."""

    time: float
    """Time of its end, in seconds since 1970."""
    request: LimitedRequest
    call: str
    code: str
    """`ok`, or the code of the error."""
    status: int
    seconds: float
    trace: Trace
    trace_id: str = ""

    @property
    def outcome(self) -> str:
        """The outcome of an answered search, else the code."""
        decision = self.trace.decision
        return decision.outcome if decision is not None and self.code == "ok" else self.code


class Recorder:
    """Collects records and processes them together; adds up searches by tenant."""

    def __init__(self, mode: str, metrics: Metrics, writer: LineWriter) -> None:
        """`mode` is the setting `log`: off, hashed or full."""
        self._mode = mode
        self._metrics = metrics
        self._writer = writer
        self._figures: dict[str, _Figures] = defaultdict(_Figures)
        self._pending: list[RequestRecord] = []

    def add(self, record: RequestRecord) -> None:
        """Add one request that was answered."""
        self._pending.append(record)
        if len(self._pending) >= MAX_PENDING:
            self.write()

    def write(self) -> None:
        """Write the collected records to metrics, usage and log."""
        records = self._pending
        self._pending = []
        self._count(records)
        for record in records if self._mode != "off" else ():
            self._log(record)

    def _count(self, records: list[RequestRecord]) -> None:
        """Count requests and decisions, and add up searches; each label is looked up once."""
        metrics = self._metrics
        counted: Counted = Counter()
        for record in records:
            trace = record.trace
            phases = trace.phases | {"total": record.seconds}
            if record.call == SEARCH or trace.decision is not None:
                counted[metrics.requests, record.outcome] += 1
                for phase, spent in phases.items():
                    metrics.durations[phase].observe(spent)
            if record.call != SEARCH:
                metrics.calls.labels(record.call, record.code).inc()
                metrics.call_duration.labels(record.call).observe(record.seconds)
            if trace.ignored:
                metrics.ignored.inc()
            for part in (trace, *trace.parts):
                decision = part.decision
                if ranker := part.degraded if decision is None else decision.degraded:
                    counted[metrics.degraded, ranker] += 1
                if decision is not None:
                    self._note(part, decision, phases if part is trace else part.phases, counted)
                    counted[metrics.cache, part.cache] += 1
                    way = "native" if decision.ranking.is_joined else "python"
                    counted[metrics.decisions, way] += 1
                    metrics.offered.observe(part.unique)
                    metrics.selected.observe(len(decision.names))
                    if decision.outcome == "no_match":
                        metrics.no_match.inc()
            if trace.tiers is not None:
                figures = self._figures[trace.tenant]
                figures.hot += 1
                figures.time("hot", phases)
                self._add_tokens(trace.tenant, trace.tiers.offered, trace.tiers.total, counted)
        for (counter, label), times in counted.items():
            counter.labels(label).inc(times)

    def _note(
        self, trace: Trace, decision: Decision, phases: dict[str, float], counted: Counted
    ) -> None:
        """Add a search to the figures of its tenant."""
        figures = self._figures[trace.tenant]
        catalog = trace.source
        figures.outcomes[decision.outcome] += 1
        figures.cache[trace.cache] += 1
        figures.time(decision.ranking.ranker, phases)
        if catalog is not None:
            offered = catalog.all_tokens
            shown = sum(map(catalog.tokens.item, decision.rows))
            # Nothing is an answer after which the caller shows everything.
            self._add_tokens(trace.tenant, offered, shown if decision.rows else offered, counted)

    def _add_tokens(self, tenant: str, offered: int, shown: int, counted: Counted) -> None:
        figures = self._figures[tenant]
        figures.offered += offered
        figures.selected += shown
        counted[self._metrics.tokens_offered, tenant] += offered
        counted[self._metrics.tokens_saved, tenant] += max(0, offered - shown)

    def stats(
        self, tenant: str, learning: answers.LearningSize | None, *, coarse: bool = False
    ) -> answers.StatsAnswer:
        """Return one tenant's statistics; in whole milliseconds if `coarse`, as in `Trace`."""
        self.write()
        figures = self._figures.get(tenant, _Figures())
        digits = 0 if coarse else 3
        latency_ms: dict[str, dict[str, answers.Quantiles]] = defaultdict(dict)
        for (ranker, phase), spent in figures.times.items():
            latency_ms[ranker][phase] = _calculate_quantiles(spent, digits)
        return answers.StatsAnswer(
            searches=figures.outcomes.total(),
            outcomes=dict(figures.outcomes),
            latency_ms=latency_ms,
            cache=answers.CacheCounts(figures.cache["hit"], figures.cache["miss"]),
            tokens=answers.TokenTotals(
                figures.offered, figures.selected, figures.offered - figures.selected
            ),
            hot=figures.hot,
            learning=learning,
        )

    def _log(self, record: RequestRecord) -> None:
        """Log the one line of a request, without what is unknown or nothing.

        Milliseconds count from the arrival of the headers.
        """
        trace = record.trace
        decision = record.trace.decision
        fields: dict[str, object] = {
            "request_id": record.request.request_id,
            "status": record.status,
            "outcome": record.outcome,
            "total_ms": round(record.seconds * 1_000, 3),
            "trace_id": record.trace_id,
            "tenant": trace.tenant,
            "degraded": trace.degraded,
            "cache": trace.cache,
            "catalog": trace.catalog[:16],
            "pattern_hash": hash_text(trace.ask.pattern) if trace.ask.pattern else "",
            "top_k": trace.top_k,
            "offered": trace.offered,
            "unique": trace.unique,
            "bytes_in": record.request.bytes_in,
            "phases_ms": {phase: round(spent * 1_000, 3) for phase, spent in trace.phases.items()},
        }
        if decision is not None:
            fields["ranker"] = decision.ranking.ranker
            fields["degraded"] = decision.degraded or "no"
            fields["selected"] = len(decision.names)
            if self._mode == "full":
                fields |= {"pattern": trace.ask.pattern, "selected_names": decision.names}
                fields["turn"] = trace.turn
        if self._mode == "full":
            fields["reports"] = [_describe_report(event) for event in trace.reports]
        fields = {name: value for name, value in fields.items() if value or name in ALWAYS}
        level = "error" if record.code == "internal_error" else "info"
        self._writer.add(datetime.fromtimestamp(record.time, UTC), level, record.call, fields)


def _describe_report(event: FeedbackEvent) -> dict[str, object]:
    """Return what the log says of a report, without what is unknown."""
    texts = {"pattern": event.pattern, "turn": event.turn, "tool": event.tool}
    return {key: value for key, value in texts.items() if value} | {"success": event.success}
