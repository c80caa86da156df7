"""Say in a few words what many tools are about: how many they are, and their namespaces."""

from collections import Counter
from collections.abc import Sequence

from toolscout.common.spelling import prefix

MAX_HINTS = 10
"""Maximum number of namespaces or names to list."""

MAX_HINT_CHARS = 128
"""Longer names are left out of such a list."""


def namespaces(names: Sequence[str]) -> dict[str, int]:
    """Return the namespaces of most tools, and how many tools each has."""
    found = Counter(space for name in _short(names) if (space := prefix(name)))
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MAX_HINTS])


def examples(names: Sequence[str]) -> list[str]:
    """Return some names, evenly from all in their alphabetical order."""
    short = _short(names)
    return short[:: -(-len(short) // MAX_HINTS)] if short else []


def overview(names: Sequence[str]) -> str:
    """Return the number of tools with their namespaces or some names, as part of a sentence."""
    total = f"{len(names)} tools" if len(names) != 1 else "1 tool"
    if spaces := namespaces(names):
        listed = ", ".join(f"{space} ({count})" for space, count in spaces.items())
        return f"{total}, most of them under {listed}"
    listed = ", ".join(examples(names))
    return f"{total}, such as {listed}" if listed else total


def _short(names: Sequence[str]) -> list[str]:
    return sorted(name for name in names if len(name) <= MAX_HINT_CHARS)
