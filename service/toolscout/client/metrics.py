"""Prometheus figures of the client, as an observer of its searches.

    from toolscout.client.metrics import PrometheusMetrics

    metrics = PrometheusMetrics()
    selector = Selector(endpoint, observers=[log_event, metrics])
    transport = Transport(endpoint, observers=[log_event, metrics], turn_observers=[metrics])

Success rate, and the rates of empty and of invalid selections, are shares of
`toolscout_client_searches_total` by `status` and `reason`.
"""

from typing import Any

from toolscout.client.events import SearchEvent, TurnEvent
from toolscout.common.optional import write_install_command
from toolscout.errors import ConfigurationError

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 1.5, 2.5)
"""Bounds of the latency histogram, close together around the promised latencies."""


PREFIX = "toolscout_client_"


class PrometheusMetrics:
    """Counts events into a registry; by default the one of the process.

    Raises:
        ConfigurationError: prometheus-client is not installed.
    """

    def __init__(self, registry: Any = None) -> None:
        try:
            import prometheus_client
        except ImportError:
            raise ConfigurationError(f"metrics need: {write_install_command('metrics')}") from None
        to = prometheus_client.REGISTRY if registry is None else registry

        def counter(name: str, about: str, *labels: str) -> Any:
            return prometheus_client.Counter(f"{PREFIX}{name}", about, labels, registry=to)

        about = "Searches by how they ended, and why those that selected nothing did"
        self._searches = counter("searches", about, "status", "reason")
        about = "Searches that the service answered by a cheaper ranker, for want of time"
        self._degraded = counter("searches_degraded", about)
        name = f"{PREFIX}added_latency_seconds"
        about = "Time that searches added to requests"
        self._latency = prometheus_client.Histogram(name, about, buckets=BUCKETS_S, registry=to)
        self._requests = counter("requests", "Requests sent, retries among them")
        self._shown = counter("tools_reinjected", "Tools that selections brought back")
        self._deferred = counter("tools_deferred", "Tools that were searched")
        about = "Estimated prompt tokens of tools in turns: offered, and shown at their end"
        self._tokens = counter("tokens", about, "tools")
        about = (
            "Calls of tools in turns with deferred tools, by how the model came to know the tool"
        )
        self._calls = counter("calls", about, "tool")

    def __call__(self, event: SearchEvent | TurnEvent) -> None:
        """Count one event."""
        if isinstance(event, TurnEvent):
            if event.stage != "deferred":  # what is finished comes again
                self._tokens.labels("offered").inc(event.tokens_offered)
                self._tokens.labels("shown").inc(event.tokens_shown)
            self._calls.labels("visible").inc(event.called_visible)
            self._calls.labels("found").inc(event.called_found)
            self._calls.labels("hidden").inc(event.called_hidden)
            return
        self._searches.labels(event.status, event.reason or "").inc()
        self._degraded.inc(event.degraded is not None)
        self._latency.observe(event.latency_ms / 1_000)
        self._requests.inc(event.attempts)
        self._deferred.inc(event.deferred_count)
        if event.status == "selected":
            self._shown.inc(len(event.selected))
