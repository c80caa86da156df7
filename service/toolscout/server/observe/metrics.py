"""Prometheus metrics. No tool name, pattern or key is ever a label."""

from functools import partial

import prometheus_client
from prometheus_client import Counter, Gauge
from prometheus_client.exposition import choose_encoder

from toolscout import __version__
from toolscout.server.observe.histogram import Distributions

# A counter begins with its process; a gauge that says so for each would double the text.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]

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
        self.registry = registry = prometheus_client.CollectorRegistry()
        prometheus_client.ProcessCollector(registry=registry)

        counter = partial(Counter, namespace="toolscout", registry=registry)
        gauge = partial(Gauge, namespace="toolscout", registry=registry)
        histogram = partial(Distributions, namespace="toolscout", registry=registry)

        self.requests = counter("requests", "Searches by outcome", ("outcome",))
        about = "Time spent on a search, by phase"
        self.duration = histogram("request_duration_seconds", about, ("phase",), buckets=_SECONDS)
        self.durations = {phase: self.duration.labels(phase) for phase in _PHASES}
        """By phase: looking a label up costs as much as counting it."""
        self.no_match = counter("no_match", "Searches without any match")
        about = "Searches answered by a cheaper ranker to keep the latency budget"
        self.degraded = counter("degraded", about, ("ranker",))
        self.decisions = counter("decisions", "Decisions, `native` or by `python` alone", ("way",))
        about = "Queries matched as regular expressions, by what came of it"
        self.patterns = counter("patterns", about, ("result",))
        self.offered = histogram(
            "offered_tools", "Distinct tools in a search", buckets=_TOOLS
        ).labels()
        self.selected = histogram("selected_tools", "Tools selected", buckets=_TOOLS[:9]).labels()
        self.ignored = counter("ignored_fields", "Requests with fields that are none of ours")
        about = "Estimated prompt tokens of the tools in searches of compiled lists, by tenant"
        self.tokens_offered = counter("tokens_offered", about, ("tenant",))
        about = "Those of tools that were not selected; none of a search without any match"
        self.tokens_saved = counter("tokens_saved", about, ("tenant",))
        self.calls = counter("calls", "Calls beside searches by outcome", ("call", "outcome"))
        self.call_duration = histogram(
            "call_duration_seconds",
            "Time spent on a call beside searches",
            ("call",),
            buckets=_SECONDS,
        )

        self.cache = counter("catalog_cache_requests", "Catalog look-ups by result", ("result",))
        self.cache_bytes = gauge("catalog_cache_bytes", "Bytes of compiled catalogs and tools")
        self.cache_entries = gauge("catalog_cache_entries", "Compiled catalogs kept")
        self.compiling = gauge("compiles_in_progress", "Catalogs being compiled")
        self.compile_failures = counter("compile_failures", "Changed lists that were compiled anew")

        self.in_flight = gauge("inflight_requests", "Searches being answered")
        self.shed = counter("shed", "Searches refused for overload", ("reason",))
        self.lag = gauge("event_loop_lag_seconds", "How late the event loop runs")

        self.connections_refused = counter(
            "connections_refused", "Connections closed for what was sent or not read", ("reason",)
        )
        self.log_dropped = counter("log_lines_dropped", "Log lines nobody read in time, or at all")
        about = "Actions on the state store that failed or took too long"
        self.store_failures = counter("store_failures", about, ("action",))
        self.store_may_evict = gauge("store_may_evict", "Whether the store may evict what it took")
        about = "Logs of reports of which most would be too old at once; they are kept for now"
        self.clock_suspect = gauge("clock_suspect", about)
        about = "Changes of the file with the keys, by what came of them"
        self.key_changes = counter("key_changes", about, ("result",))
        self.overlay_changes = counter(
            "overlay_changes", "Changes of the file with the overlay, by result", ("result",)
        )
        self.overlay_row_used = gauge(
            "overlay_row_used", "Whether a row, one of the first 1,000, was for any tool", ("row",)
        )
        about = "When the first key of a tenant ends, as a Unix time; none without a date"
        self.key_expiry = gauge("key_expiry_timestamp_seconds", about, ("tenant",))
        about = "When the certificate of the server ends, as a Unix time"
        self.certificate_expiry = gauge("certificate_expiry_timestamp_seconds", about, ("file",))
        self.feedback = counter("feedback", "Feedback events kept, by success", ("success",))
        self._build = gauge("build_info", "Version and model; always 1", ("version", "model"))

    def describe(self, model: str) -> None:
        """Set the metric with version and model."""
        self._build.labels(__version__, model).set(1)

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Return the exposition and its media type.

        `accept` is the header of the scraper, which gets OpenMetrics or Prometheus text.
        """
        try:
            encode, media = choose_encoder(accept)
        except (TypeError, ValueError):  # a version that is none, such as 1.x
            encode, media = choose_encoder("")
        return encode(self.registry), media
