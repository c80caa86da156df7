"""Names and keys that every provider takes: readable, and unique among others."""

import re
from collections.abc import Container, Iterator
from itertools import count

MAX_NAME = 64
"""Characters of a name or of a key that every provider takes."""

_HEAD = 40
"""Of them, those of a long name's beginning; its end often tells it from others."""

_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_OTHER_IN_KEYS = re.compile(r"[^A-Za-z0-9_.-]+")


def spell_name(called: str) -> str:
    """Return a name like this one; empty where nothing of it can stay."""
    name = _OTHER.sub("_", called).strip("_")
    if name and not (name[0].isalpha() or name[0] == "_"):
        name = f"_{name}"
    return _shorten(name)


def spell_key(key: str) -> str:
    """Return a key like this one, which ends with `_`: `StartTime_` for `StartTime<`."""
    return _shorten(_OTHER_IN_KEYS.sub("_", key).strip("_") + "_")


def find_free(name: str, taken: Container[str], numbers: Iterator[int] | None = None) -> str:
    """Return a name, with the next of the numbers (2, 3, …) that is free if it is taken."""
    if name not in taken:
        return name
    numbered = (f"{name[: MAX_NAME - len(str(n)) - 1]}_{n}" for n in numbers or count(2))
    return next(one for one in numbered if one not in taken)


def _shorten(name: str) -> str:
    if len(name) <= MAX_NAME:
        return name
    return f"{name[:_HEAD].rstrip('_-')}_{name[_HEAD + 1 - MAX_NAME :].lstrip('_-')}"
