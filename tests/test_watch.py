"""Growth of a process that is watched over a long run."""

import os

from loadtests.watch import Sample, Watch, grown
from tests.support import until


def run(*memory: float, files: int = 40) -> list[Sample]:
    return [Sample(second, mib, 12, files) for second, mib in enumerate(memory)]


def test_memory_that_grew_until_caches_were_full_is_no_growth():
    assert grown(run(100, 200, 300, 300, 301, 299, 300, 300, 302, 300))[2] == []


def test_memory_that_goes_on_growing_is_named():
    assert grown(run(*range(100, 1_100, 20)))[2] == ["memory"]


def test_files_that_are_never_closed_are_named():
    samples = [Sample(second, 100, 12, second) for second in range(100)]
    assert grown(samples)[2] == ["open files"]


def test_a_running_process_is_sampled():
    with Watch(os.getpid(), 0.01) as watch:
        until(lambda: len(watch.samples) >= 3)
    assert all(sample.memory_mib > 1 and sample.threads >= 1 for sample in watch.samples)
