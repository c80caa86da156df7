"""Prometheus metrics. No tool name, pattern or key is ever a label."""

from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import choose_encoder

from toolscout import __version__

# A counter begins with its process; a gauge that says so for each would double the text.
disable_created_metrics()  # type: ignore[no-untyped-call]

_MILLISECOND = 1e-3
_SECONDS = tuple(
    ms * _MILLISECOND
    for ms in (0.05, 0.1, 0.2, 0.35, 0.5, 1, 2, 5, 10, 25, 50, 100, 150, 250, 500, 1_000, 2_500)
)
_TOOLS = (0, 1, 2, 3, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000)
_PHASES = ("total", "decode", "compile", "rank")


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        counter = partial(Counter, registry=registry)
        histogram = partial(Histogram, registry=registry)
        seconds = partial(histogram, buckets=_SECONDS)
        gauge = partial(Gauge, registry=registry)

        self.requests = counter("toolscout_requests", "Searches by outcome", ["outcome"])
        self.duration = seconds(
            "toolscout_request_duration_seconds", "Time spent on a search, by phase", ["phase"]
        )
        self.no_match = counter("toolscout_no_match", "Searches without any match")
        self.degraded = counter(
            "toolscout_degraded",
            "Searches answered by a cheaper ranker to keep the latency budget",
            ["ranker"],
        )
        self.patterns = counter(
            "toolscout_patterns",
            "Queries matched as regular expressions, by what came of it",
            ["result"],
        )
        self.offered = histogram(
            "toolscout_offered_tools", "Distinct tools in a search", buckets=_TOOLS
        )
        self.selected = histogram("toolscout_selected_tools", "Tools selected", buckets=_TOOLS[:9])
        self.calls = counter(
            "toolscout_calls", "Calls beside searches by outcome", ["call", "outcome"]
        )
        self.call_duration = seconds(
            "toolscout_call_duration_seconds", "Time spent on a call beside searches", ["call"]
        )

        self.cache = counter(
            "toolscout_catalog_cache_requests", "Catalog look-ups by result", ["result"]
        )
        self.cache_bytes = gauge(
            "toolscout_catalog_cache_bytes", "Bytes of compiled catalogs and tools"
        )
        self.cache_entries = gauge("toolscout_catalog_cache_entries", "Compiled catalogs kept")
        self.compiling = gauge("toolscout_compiles_in_progress", "Catalogs being compiled")

        self.in_flight = gauge("toolscout_inflight_requests", "Searches being answered")
        self.shed = counter("toolscout_shed", "Searches refused for overload", ["reason"])
        self.lag = gauge("toolscout_event_loop_lag_seconds", "How late the event loop runs")

        self.connections_refused = counter(
            "toolscout_connections_refused",
            "Connections closed for what was sent or not read, by reason",
            ["reason"],
        )
        self.log_dropped = counter(
            "toolscout_log_lines_dropped", "Log lines that nobody read in time, or at all"
        )
        self.store_failures = counter(
            "toolscout_store_failures",
            "Actions on the state store that failed or took too long",
            ["action"],
        )
        self.key_changes = counter(
            "toolscout_key_changes",
            "Changes of the file with the keys, by what came of them",
            ["result"],
        )
        self.feedback = counter(
            "toolscout_feedback", "Feedback events kept, by success", ["success"]
        )
        self.build = gauge(
            "toolscout_build_info", "Version and model; always 1", ["version", "model"]
        )
        # Looking a label up costs as much as counting it.
        self._outcome: dict[str, Counter] = {}
        self._cached = {result: self.cache.labels(result) for result in ("hit", "miss")}
        self._phase = {phase: self.duration.labels(phase) for phase in _PHASES}

    def describe(self, model: str) -> None:
        """Set the metric with version and model."""
        self.build.labels(__version__, model).set(1)

    def count_requests(self, outcome: str, times: int) -> None:
        """Count searches of one outcome."""
        counter = self._outcome.get(outcome)
        if counter is None:
            counter = self._outcome[outcome] = self.requests.labels(outcome)
        counter.inc(times)

    def count_call(self, call: str, outcome: str, seconds: float) -> None:
        """Count one call that is no search."""
        self.calls.labels(call, outcome).inc()
        self.call_duration.labels(call).observe(seconds)

    def count_decision(self, cache: str, offered: int, selected: int, outcome: str) -> None:
        """Count one decision."""
        self._cached[cache].inc()
        self.offered.observe(offered)
        self.selected.observe(selected)
        if outcome == "no_match":
            self.no_match.inc()

    def count_pattern(self, result: str) -> None:
        """Count one pattern that was a regular expression."""
        self.patterns.labels(result).inc()

    def observe(self, phase: str, seconds: float) -> None:
        """Record the duration of one phase."""
        self._phase[phase].observe(seconds)

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Return the exposition and its media type.

        `accept` is the header of the scraper, which gets OpenMetrics or Prometheus text.
        """
        try:
            encode, media = choose_encoder(accept)
        except (TypeError, ValueError):  # a version that is none, such as 1.x
            encode, media = choose_encoder("")
        return encode(self.registry), media
