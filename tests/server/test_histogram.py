"""Our histograms read like the library's, whatever is observed."""

import prometheus_client
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.openmetrics.exposition import generate_latest as write_openmetrics

from toolscout.server.observe.histogram import Distributions

prometheus_client.disable_created_metrics()

BOUNDS = (0.001, 0.5, 1, 2.5)
VALUES = st.floats(0, 10) | st.sampled_from(BOUNDS)
OBSERVED = st.lists(st.tuples(st.sampled_from(["rank", "total"]), VALUES))


def expose(kind, observed, label_names=("phase",)) -> tuple[bytes, bytes]:
    registry = CollectorRegistry()
    made = kind("seconds", "Time", label_names, buckets=BOUNDS, namespace="us", registry=registry)
    for phase, value in observed:
        (made.labels(phase) if label_names else made).observe(value)
    return prometheus_client.generate_latest(registry), write_openmetrics(registry)


@given(OBSERVED)
def test_values_are_exposed_as_by_the_library(observed):
    assert expose(Distributions, observed) == expose(Histogram, observed)


@given(OBSERVED)
def test_without_a_label_there_is_one_distribution_from_the_beginning(observed):
    def unlabelled(*args, **more):
        return Distributions(*args, **more).labels()

    assert expose(unlabelled, observed, ()) == expose(Histogram, observed, ())
