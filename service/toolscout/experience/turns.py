"""Turns of conversations: which pattern each searched for, and what was reported of it.

A caller may retry a report, and a client and a proxy may both report one call. So equal reports of
a turn count once, in every process that reads them.
"""

from collections import Counter, deque
from dataclasses import dataclass
from hashlib import blake2b

from toolscout.common.lru import Lru
from toolscout.experience.reported import Observation
from toolscout.index.pattern_vectors import WORDS_KEPT, Pattern, pack

TURN_S = 3_600.0
"""Seconds for which a turn is known."""

TURNS = 4_096
"""Maximum number of turns of one tenant (about 7 MB); the oldest are forgotten first."""

REPORTS = 16_384
"""Maximum number of reports of one tenant that are recognised (about 3 MB), and of sources."""

REPORTS_PER_SOURCE = 3
"""Reports of one key, for one pattern and one tool, that count."""


@dataclass(slots=True)
class ReportedTurn:
    """The pattern that was searched for in a turn, as a vector."""

    time: float
    catalog: str = ""
    """Digest of the list that was searched."""
    vector: bytes = b""
    unpacked: Pattern | None = None
    """The vector until it is packed: most never need to be."""

    def __post_init__(self) -> None:
        """Pack the vector of a long pattern, which takes much less memory then."""
        if self.unpacked is not None and len(self.unpacked.places) > WORDS_KEPT:
            self.pack()

    def pack(self) -> bytes:
        """Return the packed vector."""
        if self.unpacked is not None:
            self.vector = pack(self.unpacked)
            self.unpacked = None
        return self.vector


class Turns:
    """The turns and reports of one tenant."""

    def __init__(self) -> None:
        self._turns: Lru[str, ReportedTurn] = Lru(TURNS)
        self._reports: Lru[str, bool] = Lru(REPORTS)
        self._sources: Lru[str, int] = Lru(REPORTS)
        self._unwritten: deque[str] = deque(maxlen=TURNS)

    def remember(self, name: str, turn: ReportedTurn, *, write: bool) -> None:
        """Remember a turn, and note whether it is to be written for other processes.

        `name` is the digest of the caller's identifier.
        """
        before = self._turns.get(name)
        if before is not None and before.time > turn.time:
            return  # read from the store, and searched again since it was written
        self._turns.put(name, turn)
        if write:
            self._unwritten.append(name)

    def find(self, name: str, now: float) -> ReportedTurn | None:
        """Return a turn, unless it is unknown or too old."""
        turn = self._turns.get(name)
        return None if turn is None or now - turn.time > TURN_S else turn

    def take_unwritten(self) -> dict[str, ReportedTurn]:
        """Return the turns that were remembered since the last call."""
        names = dict.fromkeys(self._unwritten)
        self._unwritten.clear()
        return {name: turn for name in names if (turn := self._turns.get(name))}

    def is_counted(self, report: str) -> bool:
        """Whether a report was counted."""
        return self._reports.get(report) is not None

    def _is_counted(self, seen: Observation, batch: Counter[str]) -> bool:
        """Whether a report is new, and its source has not reported enough, a batch included."""
        of_source = (self._sources.get(seen.source) or 0) + batch[seen.source]
        is_known = batch[seen.report] or self.is_counted(seen.report)
        return not (is_known or (seen.source and of_source >= REPORTS_PER_SOURCE))

    def count_in_batch(self, seen: Observation, batch: Counter[str]) -> bool:
        """Whether a report counts after those of a batch, whose reports and sources are counted."""
        if not self._is_counted(seen, batch):
            return False
        batch.update(filter(None, (seen.report, seen.source)))
        return True

    def count(self, seen: Observation) -> bool:
        """Count a report; False if it was counted before, or its source has reported enough."""
        if not self._is_counted(seen, Counter()):
            return False
        if seen.report:
            self._reports.put(seen.report, True)
        if seen.source:
            self._sources.put(seen.source, (self._sources.get(seen.source) or 0) + 1)
        return True


def report_of(seen: Observation) -> str:
    """Return what equal reports of a turn have in common; "" without a turn."""
    if not seen.turn:
        return ""
    return hash_texts(seen.turn, "yes" if seen.success else "no", seen.tool, *seen.chain)


def identify_source(key: str, seen: Observation, period: int) -> str:
    """Return what the reports of one key for a pattern and a tool have in common in a period.

    Empty without a key, as all reports come from whoever runs the process then, and for chains.
    """
    if not key or seen.chain:
        return ""
    result = "yes" if seen.success else "no"
    return hash_texts(key, str(period), seen.vector.hex(), result, seen.tool)


def hash_texts(*parts: str) -> str:
    """Return a digest of texts, so that no identifier of a caller is stored."""
    # The length before each text tells ("ab", "c") from ("a", "bc").
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return blake2b(joined.encode("utf-8", "replace"), digest_size=12).hexdigest()
