"""The experience of one tenant with its tools.

Every tool keeps a few typical patterns, each with its successes and failures. Similar patterns are
merged, so a hundred thousand observations take no more memory than a few per tool. An observation
belongs to a tool's name *and* content: a changed tool starts without experience.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from math import inf, sqrt

import msgspec
import numpy as np

from toolscout.index.pattern_vectors import Floats, Kept, keep, restore

Key = tuple[str, str]
"""A tool's name, and the digest of its content, or "" if unknown."""

DAY_S = 86_400.0
"""Here and not beside the log, for the engine knows no log."""

SLOTS = 8
"""Typical patterns that one tool keeps."""

MERGE_COSINE = 0.95
"""Cosine from which two patterns of a tool are merged."""

MAX_TOOLS = 10_000
"""Maximum number of tools of one tenant (about 50 MB); the least recently used is dropped first."""

CHANGES_KEPT = 4_096


class Observation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A use of a tool for a pattern, and whether it worked."""

    pattern: str
    """Empty in the store unless texts are kept."""
    tool: str
    success: bool
    chain: tuple[str, ...] = ()
    """Tools that were used one after the other; `tool` is then empty."""
    catalog: str = ""
    """Digest of the list that contained the tool, if the caller sent it."""
    digest: str = ""
    """Digest of the tool's content, if known."""
    duration_ms: float | None = None
    time: float = 0.0
    """Seconds since 1970."""
    origin: str = ""
    """The process, between two resets, that learned it when it was recorded."""
    vector: bytes = b""
    """The packed vector of the pattern, where there is no text."""
    model: str = ""
    """The model and layout of the vector."""
    turn: str = ""
    """The turn of a conversation, never stored."""
    report: str = ""
    """Digest of turn, tool or chain, and success; equal reports count once."""
    source: str = ""
    """Digest of key, pattern, tool or chain, and success; only a few reports with the same
    digest count."""
    subjects: tuple[str, ...] = ()
    """Digests of the session and the source that a report names, by which it may be deleted."""


@dataclass(slots=True)
class Slot:
    """One typical pattern of a tool."""

    point: Kept
    successes: float
    failures: float
    seen: float
    since: float
    """When it was reported first."""
    worked: float
    """When it worked last."""


@dataclass(slots=True)
class ReportedUse:
    """Results of a tool's calls."""

    successes: int = 0
    failures: int = 0
    duration_ms: float | None = None
    """A running mean of successful calls."""

    @property
    def uses(self) -> int:
        """Number of calls."""
        return self.successes + self.failures

    @property
    def success_rate(self) -> float:
        """Share of successful calls, 0 to 1."""
        return round(self.successes / self.uses, 4)

    @property
    def typical_duration_ms(self) -> float | None:
        """The duration, rounded for answers."""
        return None if self.duration_ms is None else round(self.duration_ms, 1)


@dataclass(slots=True)
class ToolExperience(ReportedUse):
    """The experience with one tool."""

    slots: list[Slot] = field(default_factory=list)
    seen: float = 0.0

    def learn(self, vector: Floats, observation: Observation) -> None:
        """Learn from one use."""
        worked = observation.success
        self.successes += worked
        self.failures += not worked
        self.seen = max(self.seen, observation.time)
        if worked and observation.duration_ms is not None:
            usual = self.duration_ms
            spent = observation.duration_ms
            self.duration_ms = spent if usual is None else 0.8 * usual + 0.2 * spent
        nearest, cosine = self._find_nearest(vector)
        if nearest is None or (cosine < MERGE_COSINE and len(self.slots) < SLOTS):
            time = observation.time
            success = float(worked)
            slot = Slot(keep(vector), success, 1 - success, time, time, time if worked else -inf)
            self.slots.append(slot)
            return
        count = nearest.successes + nearest.failures
        mean = restore(nearest.point) * np.float32(count) + vector
        nearest.point = keep(mean / np.float32(sqrt(mean @ mean) or 1.0))
        nearest.successes += worked
        nearest.failures += not worked
        nearest.seen = max(nearest.seen, observation.time)
        if worked:
            nearest.worked = max(nearest.worked, observation.time)

    def _find_nearest(self, vector: Floats) -> tuple[Slot | None, float]:
        if not self.slots:
            return None, 0.0
        cosines = np.stack([restore(slot.point) for slot in self.slots]) @ vector
        best = int(cosines.argmax())
        return self.slots[best], float(cosines[best])


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
        """Learn from one observation; `vector` is that of its pattern."""
        key = (observation.tool, observation.digest)
        tool = self._tools.get(key)
        if tool is None:
            tool = self._tools[key] = ToolExperience()
        self._tools.move_to_end(key)
        tool.learn(vector, observation)
        self.observations += 1
        self._note(key)
        self.bound(self._limit)

    def bound(self, limit: int) -> None:
        """Keep at most this many tools from now on, those used last."""
        self._limit = limit
        while len(self._tools) > limit:
            self._note(self._tools.popitem(last=False)[0])

    def forget(self, before: float) -> None:
        """Forget the patterns, and the tools, that were reported last before a time."""
        for key, tool in list(self._tools.items()):
            kept = [slot for slot in tool.slots if slot.seen >= before]
            if len(kept) < len(tool.slots):
                tool.slots = kept
                self._note(key)
            if tool.seen < before:
                del self._tools[key]

    def of(self, key: Key) -> ToolExperience | None:
        """Return the experience with a tool."""
        return self._tools.get(key)

    def use(self, name: str, digest: str) -> ReportedUse | None:
        """Return the results of a tool's calls, including those reported by name alone."""
        tools = [tool for each in (digest, "") if (tool := self._tools.get((name, each)))]
        if not tools:
            return None
        durations = [tool.duration_ms for tool in tools if tool.duration_ms is not None]
        return ReportedUse(
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
        """Number of changes so far."""
        return self._forgotten + len(self._changed)

    def find_changed(self, count: int) -> list[Key] | None:
        """Return the tools changed since change number `count`; None if it is too long ago."""
        if count < self._forgotten:
            return None
        return list(islice(self._changed, count - self._forgotten, None))

    def _note(self, key: Key) -> None:
        self._changed.append(key)
        if len(self._changed) > 2 * CHANGES_KEPT:
            self._forgotten += len(self._changed) - CHANGES_KEPT
            del self._changed[:-CHANGES_KEPT]
