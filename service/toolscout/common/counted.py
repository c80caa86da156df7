"""Counts and lists of names in sentences."""

from collections.abc import Sequence


def write_count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 tool`, `2 tools`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def list_first_names(names: Sequence[str], at_most: int) -> str:
    """Return the first names of a list, and how many there are beyond."""
    rest = len(names) - at_most
    return ", ".join(names[:at_most]) + (f" and {rest:,} more" if rest > 0 else "")
