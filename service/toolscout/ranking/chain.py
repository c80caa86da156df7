"""Add the tools of a learned chain to an answer.

They take free places, and those of tools that would not make a match by themselves. Names and pins
stay.
"""

from collections.abc import Callable, Sequence

import msgspec

from toolscout.ranking.calibration import MATCH

SURE = 0.3
"""Confidence of a chain from which it is followed."""


class Chain(msgspec.Struct, frozen=True):
    """Tools that were used one after the other for queries like this one."""

    names: tuple[str, ...]
    confidence: float
    """Confidence that this chain is the wanted one, 0 to 1."""
    proof: float
    """How similar its reported intent is to that of the query, 0 to 1."""

    @property
    def is_sure(self) -> bool:
        """Whether the chain is followed."""
        return self.confidence >= SURE

    @property
    def is_evidence(self) -> bool:
        """Whether it is evidence for its tools without a match by words or meaning."""
        return self.is_sure and self.proof >= 1.0


def follow(
    ranked: Sequence[int],
    chain: Sequence[int],
    score: Callable[[int], float],
    kept: Callable[[int], bool],
) -> list[int]:
    """Put the rows of a chain behind the convincing ones and before the rest.

    Rows that are `kept`, such as tools named in the query and pins, keep their place.
    """
    members = set(chain)
    convincing = [row for row in ranked if row in members or kept(row) or score(row) >= MATCH]
    return list(dict.fromkeys([*convincing, *chain, *ranked]))
