"""What a long run does to the process: memory, threads and open files over time."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

SETTLED = 0.4
"""Share of a run after which caches are full and everything has been used."""

GROWTH_MIB = 32
"""What memory may still grow after that: pieces of freed memory that are not given back."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The process at one moment."""

    seconds: float
    memory_mib: float
    threads: int
    files: int


@dataclass
class Watch:
    """Samples of a process, taken in a thread until it is closed."""

    pid: int
    every_s: float
    samples: list[Sample] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "Watch":
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _follow(self) -> None:
        began = time.monotonic()
        while not self._over.wait(self.every_s):
            self.samples.append(sample(self.pid, time.monotonic() - began))


def sample(pid: int, seconds: float) -> Sample:
    """Look at a process now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    memory = int(fields["VmRSS"].split()[0]) / 1_024
    files = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return Sample(seconds, memory, int(fields["Threads"]), files)


def grown(samples: Sequence[Sample]) -> tuple[Sample, Sample, list[str]]:
    """Return the process when it had settled, the same at the end, and what grew that should not.

    Both are medians of a fifth of the samples, at least one.
    """
    fifth = max(len(samples) // 5, 1)
    settled = int(len(samples) * SETTLED)
    early, late = _middle(samples[settled : settled + fifth]), _middle(samples[-fifth:])
    found = []
    if late.memory_mib > early.memory_mib + GROWTH_MIB:
        found.append("memory")
    if late.threads > early.threads + 2:
        found.append("threads")
    if late.files > early.files + 16:
        found.append("open files")
    return early, late, found


def _middle(samples: Sequence[Sample]) -> Sample:
    return Sample(
        samples[-1].seconds,
        median(sample.memory_mib for sample in samples),
        int(median(sample.threads for sample in samples)),
        int(median(sample.files for sample in samples)),
    )
