"""The usage of a turn: the sum over its forwards, since the caller pays for each of them."""

from collections.abc import Iterable, Mapping
from typing import Any

Usage = dict[str, Any]


def add(total: Any, usage: Any) -> Any:
    """Add two usages: numbers are summed at every depth, of anything else the later one stays.

    The entries of a list (Gemini counts by modality) are summed where all but their numbers is
    the same.
    """
    if usage is None or total is None:
        return total if usage is None else usage
    if _is_number(total) and _is_number(usage):
        return total + usage
    if isinstance(total, Mapping) and isinstance(usage, Mapping):
        both = {key: add(value, usage.get(key)) for key, value in total.items()}
        return {**both, **{key: usage[key] for key in usage if key not in total}}
    if isinstance(total, list) and isinstance(usage, list):
        return _add_lists(total, usage)
    return usage


def _add_lists(total: list[Any], usage: list[Any]) -> list[Any]:
    added = list(total)
    for entry in usage:
        place = next((i for i, known in enumerate(added) if _label(known) == _label(entry)), None)
        if place is None:
            added.append(entry)
        else:
            added[place] = add(added[place], entry)
    return added


def _label(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    return {key: value for key, value in entry.items() if not _is_number(value)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def summed(spent: Usage, response: Usage, keys: Iterable[str]) -> Usage:
    """Return the usage under some keys of a response, with what was spent before it."""
    added = {key: add(spent.get(key), response.get(key)) for key in keys}
    return {key: value for key, value in added.items() if value is not None}
