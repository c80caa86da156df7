"""Prometheus figures of the client, as an observer of its searches.

    from toolscout.client.metrics import PrometheusMetrics

    metrics = PrometheusMetrics()
    selector = Selector(endpoint, observers=[log_event, metrics])
    transport = Transport(endpoint, observers=[log_event, metrics], turn_observers=[metrics])

Success rate, and the rates of empty and of invalid selections, are shares of
`toolscout_client_searches_total` by `status` and `reason`.
"""

from functools import partial
from typing import Any

from toolscout.client.events import SearchEvent, TurnEvent
from toolscout.errors import ConfigurationError

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 1.5, 2.5)
"""Bounds of the latency histogram, close together around the promised latencies."""


class PrometheusMetrics:
    """Counts events into a registry; by default the one of the process.

    Raises:
        ConfigurationError: prometheus-client is not installed.
    """

    def __init__(self, registry: Any = None) -> None:
        try:
            import prometheus_client
        except ImportError:
            raise ConfigurationError("metrics need: pip install 'toolscout[metrics]'") from None
        to: dict[str, Any] = {
            "registry": prometheus_client.REGISTRY if registry is None else registry
        }
        counter: Any = partial(prometheus_client.Counter, **to)
        self._searches = counter(
            "toolscout_client_searches",
            "Searches by how they ended, and why those that selected nothing did",
            ["status", "reason"],
        )
        self._degraded = counter(
            "toolscout_client_searches_degraded",
            "Searches that the service answered by a cheaper ranker, for want of time",
        )
        self._latency = prometheus_client.Histogram(
            "toolscout_client_added_latency_seconds",
            "Time that searches added to requests",
            buckets=BUCKETS_S,
            **to,
        )
        self._requests = counter("toolscout_client_requests", "Requests sent, retries among them")
        self._shown = counter(
            "toolscout_client_tools_reinjected", "Tools that selections brought back"
        )
        self._deferred = counter("toolscout_client_tools_deferred", "Tools that were searched")
        self._tokens = counter(
            "toolscout_client_tokens",
            "Estimated prompt tokens of tools in turns: offered, and shown at their end",
            ["tools"],
        )
        self._calls = counter(
            "toolscout_client_calls",
            "Calls of tools in turns with deferred tools, by how the model came to know the tool",
            ["tool"],
        )

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
