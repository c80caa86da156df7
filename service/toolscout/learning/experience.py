"""What one tenant has seen its tools do.

Every tool keeps a few typical patterns it was used for, each with how often that worked. Much used
tools merge what is alike, so a hundred thousand observations take no more room than a few per
tool. An observation belongs to a tool's name *and* content: a tool that changed starts anew.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from math import sqrt
from typing import NamedTuple

import msgspec
import numpy as np

from toolscout.learning.patterns import Floats, Kept, keep, restore

Key = tuple[str, str]
"""A tool's name, and the digest of its content or "" where that was not known."""

SLOTS = 8
"""Typical patterns that one tool keeps."""

ALIKE = 0.95
"""Cosine from which two patterns of a tool are the same one."""

MAX_TOOLS = 10_000
"""Tools of one tenant that are remembered (about 50 MB); the least recently used go first."""

CHANGES_KEPT = 4_096


class Observation(msgspec.Struct, frozen=True, omit_defaults=True):
    """That a tool was used for a pattern, and how it went."""

    pattern: str
    tool: str
    success: bool
    chain: tuple[str, ...] = ()
    """Tools that were used one after the other; then `tool` says nothing."""
    catalog: str = ""
    """Digest of the list that the tool was in, where the caller said so."""
    digest: str = ""
    """Of the tool's content, as far as it was known."""
    duration_ms: float | None = None
    session: str | None = None
    source: str | None = None
    time: float = 0.0
    """Seconds since 1970."""
    origin: str = ""
    """Who learned it as it was recorded: one process, between two resets."""


@dataclass(slots=True)
class Slot:
    """One typical pattern of a tool."""

    point: Kept
    successes: float
    failures: float
    seen: float


@dataclass(slots=True)
class ToolExperience:
    """What is known of one tool."""

    slots: list[Slot] = field(default_factory=list)
    successes: int = 0
    failures: int = 0
    duration_ms: float | None = None
    """A running mean of successful calls."""
    seen: float = 0.0

    def learn(self, vector: Floats, observation: Observation) -> None:
        """Take one use into account."""
        worked = observation.success
        self.successes += worked
        self.failures += not worked
        self.seen = max(self.seen, observation.time)
        if worked and observation.duration_ms is not None:
            known = self.duration_ms
            spent = observation.duration_ms
            self.duration_ms = spent if known is None else 0.8 * known + 0.2 * spent
        nearest, cosine = self._nearest(vector)
        if nearest is None or (cosine < ALIKE and len(self.slots) < SLOTS):
            slot = Slot(keep(vector), float(worked), float(not worked), observation.time)
            self.slots.append(slot)
            return
        count = nearest.successes + nearest.failures
        mean = restore(nearest.point) * np.float32(count) + vector
        nearest.point = keep(mean / np.float32(sqrt(mean @ mean) or 1.0))
        nearest.successes += worked
        nearest.failures += not worked
        nearest.seen = max(nearest.seen, observation.time)

    def _nearest(self, vector: Floats) -> tuple[Slot | None, float]:
        if not self.slots:
            return None, 0.0
        cosines = np.stack([restore(slot.point) for slot in self.slots]) @ vector
        best = int(cosines.argmax())
        return self.slots[best], float(cosines[best])


class Use(NamedTuple):
    """What came of a tool's calls; the duration is of the successful ones, in milliseconds."""

    successes: int
    failures: int
    duration_ms: float | None

    @property
    def success_rate(self) -> float:
        """The share of calls that did what was wanted."""
        return round(self.successes / (self.successes + self.failures), 4)

    @property
    def typical_duration_ms(self) -> float | None:
        """The duration as it is shown."""
        return None if self.duration_ms is None else round(self.duration_ms, 1)


class Experience:
    """The tools of one tenant."""

    def __init__(self, limit: int = MAX_TOOLS) -> None:
        self._limit = limit
        self._tools: OrderedDict[Key, ToolExperience] = OrderedDict()
        self._changed: list[Key] = []
        self._forgotten = 0
        """Changes that are no longer listed."""
        self.observations = 0

    def learn(self, observation: Observation, vector: Floats) -> None:
        """Take one observation into account; `vector` is the point of its pattern."""
        key = (observation.tool, observation.digest)
        tool = self._tools.get(key)
        if tool is None:
            tool = self._tools[key] = ToolExperience()
        self._tools.move_to_end(key)
        tool.learn(vector, observation)
        self.observations += 1
        self._note(key)
        while len(self._tools) > self._limit:
            self._note(self._tools.popitem(last=False)[0])

    def of(self, key: Key) -> ToolExperience | None:
        """What is known of a tool."""
        return self._tools.get(key)

    def use(self, name: str, digest: str) -> Use | None:
        """What came of a tool's calls, those included of which only its name was known."""
        found = [self._tools.get((name, each)) for each in (digest, "")]
        tools = [tool for tool in found if tool is not None]
        if not tools:
            return None
        durations = [tool.duration_ms for tool in tools if tool.duration_ms is not None]
        return Use(
            sum(tool.successes for tool in tools),
            sum(tool.failures for tool in tools),
            durations[0] if durations else None,
        )

    def __iter__(self) -> Iterator[tuple[Key, ToolExperience]]:
        return iter(self._tools.items())

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def changes(self) -> int:
        """How many changes there have been."""
        return self._forgotten + len(self._changed)

    def changed_since(self, count: int) -> list[Key] | None:
        """The tools changed since there had been `count` changes; None when it is too long ago."""
        if count < self._forgotten:
            return None
        return list(islice(self._changed, count - self._forgotten, None))

    def _note(self, key: Key) -> None:
        self._changed.append(key)
        if len(self._changed) > 2 * CHANGES_KEPT:
            self._forgotten += len(self._changed) - CHANGES_KEPT
            del self._changed[:-CHANGES_KEPT]
