"""docs/metrics.md: a line per metric, from the objects that count."""

from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.metrics import MetricWrapperBase

from docs.generate.notes import WRITTEN, joined, notes
from toolscout.client.metrics import PrometheusMetrics
from toolscout.server.observe.metrics import Metrics


def page() -> str:
    """Return the whole page."""
    texts = notes("introductions")
    service = [_section(metric) for metric in families(Metrics())]
    service += [_described(*shown) for shown in process_metrics()]
    client = [_section(one) for one in families(PrometheusMetrics(CollectorRegistry()))]
    return joined(
        [
            *(WRITTEN, "# Metrics", texts["metrics"], "## Of the service", "\n".join(service)),
            *("## Of the client", texts["client_metrics"], "\n".join(client)),
        ]
    )


def families(holder: Any) -> list[MetricWrapperBase]:
    """Return the metrics that are attributes of an object, in the order they were made."""
    return [value for value in vars(holder).values() if isinstance(value, MetricWrapperBase)]


def process_metrics() -> list[tuple[str, str, str]]:
    """Name, description and type of the metrics of the processes."""
    found = ProcessCollector(registry=None).collect()
    return [(family.samples[0].name, family.documentation, family.type) for family in found]


def exposed(metric: MetricWrapperBase) -> str:
    """Return the name that `/metrics` shows: a counter's ends in `_total`."""
    (family,) = metric.describe()
    return family.name + ("_total" if family.type == "counter" else "")


def _section(metric: MetricWrapperBase) -> str:
    (family,) = metric.describe()
    labels = ", ".join(f"`{label}`" for label in metric._labelnames)
    kind = f"{family.type}, by {labels}" if labels else family.type
    return _described(exposed(metric), family.documentation, kind)


def _described(name: str, text: str, kind: str) -> str:
    note = notes("metrics").get(name, "").replace("\n", " ")
    return f"- `{name}` ({kind}): {text.rstrip('.')}. {note}".rstrip()
