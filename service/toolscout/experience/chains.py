"""Chains: tools that were used one after the other for an intent.

A chain is learned like a tool: a few typical intents, each with how often the chain worked. For a
pattern, the chain with the nearest intent is returned with its confidence.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from toolscout.experience.prior import LearnedIndex
from toolscout.experience.reported import Experience, Observation
from toolscout.index.pattern_vectors import Floats, Pattern
from toolscout.ranking.calibration import weigh_proof
from toolscout.ranking.choose import Chain
from toolscout.ranking.experience import MIN_RELATED_COSINE

MAX_CHAINS = 1_000
"""Maximum number of chains of one tenant; the least recently used is dropped first."""

MIN_INTENT_COSINE = 0.4
"""Cosine of the nearest intent from which its chain is certain."""

ENOUGH_REPORTS = 3
"""Successes less failures, for a similar intent, from which their number adds no certainty; a
single one is not followed."""

_join = msgspec.json.Encoder().encode
_part = msgspec.json.Decoder(tuple[str, ...]).decode


class Insight(NamedTuple):
    """The chain for a pattern, and how often it worked of all reports."""

    chain: Chain
    successes: int
    evidence: int


class Chains:
    """The chains of one tenant."""

    def __init__(self) -> None:
        self._experience = Experience(MAX_CHAINS)
        self._keys: list[tuple[str, str]] = []
        self._index: LearnedIndex | None = None

    def learn(self, chain: Sequence[str], observation: Observation, vector: Floats) -> None:
        """Learn from one report; `vector` is that of its intent."""
        joined = _join(chain).decode()
        self._experience.learn(replace(observation, tool=joined, chain=()), vector)

    def forget(self, before: float) -> None:
        """Forget the chains that were reported last before a time."""
        self._experience.forget(before)

    def find_insight(
        self,
        pattern: Pattern,
        familiarity: float,
        now: float,
        fits: Callable[[str], bool] = lambda _: True,
    ) -> Insight | None:
        """Return the chain for a pattern, with only allowed tools; None if none is near.

        `familiarity` is the share of the pattern that the embedding model knows, 0 to 1.
        """
        learned = self._prepare(now).prior(pattern) if len(self._experience) else None
        if learned is None:
            return None
        past = {row: one for row, one in learned.past.items() if one.cosine >= MIN_RELATED_COSINE}
        for row in sorted(past, key=lambda row: (-past[row].cosine * past[row].weight, row)):
            names = _part(self._keys[row][0])
            tool = self._experience.of(self._keys[row])
            if tool is not None and all(map(fits, names)):
                near = min(1.0, past[row].cosine / MIN_INTENT_COSINE) * past[row].weight
                known = min(1.0, past[row].successes / ENOUGH_REPORTS)
                confidence = round(near * known * tool.successes / (tool.uses + 1), 4)
                chain = Chain(names, confidence, weigh_proof(learned.likeness, familiarity))
                return Insight(chain, tool.successes, tool.uses)
        return None

    def __len__(self) -> int:
        return len(self._experience)

    def _prepare(self, now: float) -> LearnedIndex:
        keys = [key for key, _ in self._experience]
        index = self._index
        has_all = index is not None and set(keys) == set(self._keys)
        if index is None or not (has_all and index.bring_up_to_date(self._experience, now)):
            self._keys = keys
            self._index = index = LearnedIndex(keys, self._experience, now)
        return index
