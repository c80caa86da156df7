"""Differences on the same questions, each with twice its paired standard error.

"Lower" means by more than that: what is within it may come from the choice of the questions.
"""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import NamedTuple

LEAST_ERROR = 0.006
"""Twice the standard error that a set counts with at least."""


class Change(NamedTuple):
    """The mean difference, and twice its standard error."""

    mean: float
    error: float

    def __str__(self) -> str:
        """Write both, as +0.012 ± 0.006; where nothing changes, ±0."""
        mean = _signed(self.mean)
        return mean if self.error < 0.0005 else f"{mean} ± {self.error:.3f}"

    @property
    def is_lower(self) -> bool:
        """Whether it is lower by more than twice the standard error."""
        return self.mean < -self.error


def change(before: Sequence[float], after: Sequence[float]) -> Change:
    """Compare the values of the same questions, in the same order."""
    differences = [new - old for old, new in zip(before, after, strict=True)]
    if len(differences) < 2:
        return Change(fmean(differences) if differences else 0.0, 0.0)
    return Change(fmean(differences), 2 * stdev(differences) / sqrt(len(differences)))


def over_sets(changes: Sequence[Change]) -> Change:
    """Return the mean over sets that count the same, however many questions each has."""
    error = sqrt(sum(one.error**2 for one in changes)) / len(changes)
    return Change(fmean(one.mean for one in changes), error)


def over_group(changes: Sequence[Change]) -> Change:
    """Return the mean over the sets of a group, of which each weighs by its error.

    One in which hardly anything changes has hardly an error, and would decide alone: an error
    counts as `LEAST_ERROR` at least.
    """
    weights = [1 / max(one.error, LEAST_ERROR) ** 2 for one in changes]
    total = sum(weights)
    mean = sum(weight * one.mean for weight, one in zip(weights, changes, strict=True)) / total
    terms = ((weight * one.error) ** 2 for weight, one in zip(weights, changes, strict=True))
    return Change(mean, sqrt(sum(terms)) / total)


def _signed(value: float) -> str:
    """Return a signed number; what rounds to nothing is written so."""
    return "±0" if abs(value) < 0.0005 else f"{value:+.3f}".replace("-", "−")
