"""Record requests: metrics, usage statistics and log lines.

A request appends one tuple. All of them are processed together, several times a second and before
any figures are read: one by one, with caches cold from ranking, it took a sixth of a request.
"""

from collections import Counter
from datetime import UTC, datetime
from typing import NamedTuple

from toolscout.ranking.ask import Decision
from toolscout.server.observe.log import LineWriter, RequestLine, hashed
from toolscout.server.observe.metrics import Metrics
from toolscout.server.observe.trace import Trace
from toolscout.server.observe.usage import Tally

MAX_PENDING = 256
"""Number of records after which they are processed immediately: they keep catalogs in memory."""

SEARCH = "search"


class Record(NamedTuple):
    """One answered request."""

    time: float
    """Time of its end, in seconds since 1970."""
    call: str
    code: str
    """`ok`, or the code of the error."""
    status: int
    seconds: float
    request_id: str
    trace_id: str
    bytes_in: int
    trace: Trace


class Recorder:
    """Collects records and processes them together."""

    def __init__(self, mode: str, metrics: Metrics, tally: Tally, writer: LineWriter) -> None:
        """`mode` is the setting `log`: off, hashed or full."""
        self._mode = mode
        self._metrics = metrics
        self._tally = tally
        self._writer = writer
        self._pending: list[Record] = []

    def add(self, record: Record) -> None:
        """Add one request that was answered."""
        self._pending.append(record)
        if len(self._pending) >= MAX_PENDING:
            self.write()

    def write(self) -> None:
        """Write the collected records to metrics, usage and log."""
        records, self._pending = self._pending, []
        if not records:
            return
        self._count(records)
        for record in records:
            self._tally.note(record.trace, record.seconds)
            if self._mode != "off":
                self._writer.write(self._line(record, record.trace.decision))

    def _count(self, records: list[Record]) -> None:
        """Count requests and decisions; each label is looked up once."""
        metrics = self._metrics
        outcomes: Counter[str] = Counter()
        degraded: Counter[str] = Counter()
        cached: Counter[str] = Counter()
        for record in records:
            trace = record.trace
            if record.call == SEARCH or trace.decision is not None:
                outcomes[outcome_of(trace.decision, record.code)] += 1
                for phase, spent in (trace.phases | {"total": record.seconds}).items():
                    metrics.duration[phase].observe(spent)
            if record.call != SEARCH:
                metrics.calls.labels(record.call, record.code).inc()
                metrics.call_duration.labels(record.call).observe(record.seconds)
            for part in (trace, *trace.parts):
                decision = part.decision
                if ranker := part.degraded if decision is None else decision.degraded:
                    degraded[ranker] += 1
                if decision is not None:
                    cached[part.cache] += 1
                    metrics.offered.observe(part.unique)
                    metrics.selected.observe(len(decision.names))
                    metrics.no_match.inc(decision.outcome == "no_match")
        for counter, found in (
            (metrics.requests, outcomes),
            (metrics.degraded, degraded),
            (metrics.cache, cached),
        ):
            for label, times in found.items():
                counter.labels(label).inc(times)

    def _line(self, record: Record, decision: Decision | None) -> RequestLine:
        trace, code = record.trace, record.code
        line = RequestLine(
            time=datetime.fromtimestamp(record.time, UTC),
            level="error" if code == "internal_error" else "info",
            event=record.call,
            request_id=record.request_id,
            trace_id=record.trace_id,
            tenant=trace.tenant,
            status=record.status,
            outcome=outcome_of(decision, code),
            cache=trace.cache,
            catalog=trace.catalog[:16],
            pattern_hash=hashed(trace.pattern) if trace.pattern else "",
            top_k=trace.top_k,
            offered=trace.offered,
            unique=trace.unique,
            degraded=trace.degraded,
            bytes_in=record.bytes_in,
            total_ms=round(record.seconds * 1_000, 3),
            phases_ms={phase: round(spent * 1_000, 3) for phase, spent in trace.phases.items()},
        )
        if decision is not None:
            line.ranker = decision.ranking.ran
            line.degraded = decision.degraded or "no"
            line.selected = len(decision.names)
            if self._mode == "full":
                line.pattern, line.selected_names = trace.pattern, decision.names
        return line


def outcome_of(decision: Decision | None, code: str) -> str:
    """Return the outcome of an answered search, else the code."""
    return decision.outcome if decision is not None and code == "ok" else code
