"""Names for operations: readable, unique, and such as every provider takes."""

import re
from collections.abc import Iterable, Mapping
from itertools import count

MAX_NAME = 64
"""Characters of a name that every provider takes."""

_HEAD = 40
"""Of them, those of a long name's beginning; its end often tells it from others."""

_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


def name_operations(wanted: Iterable[tuple[str, str]]) -> list[str]:
    """Return a name for each operation, given what it is called and how else it may be called.

    Who is called by a name to the letter has it; others get the next number that nobody wants.
    """
    spelt = [(called, _spell(called) or _spell(otherwise)) for called, otherwise in wanted]
    reserved = {name for _, name in spelt}
    owners: dict[str, int] = {}
    for number, (called, name) in enumerate(spelt):
        if called == name:
            owners.setdefault(name, number)
    for number, (_, name) in enumerate(spelt):
        owners.setdefault(name, number)
    taken = set(reserved)
    names = []
    for number, (_, name) in enumerate(spelt):
        own = name if owners[name] == number else _find_free(name, taken)
        taken.add(own)
        names.append(own)
    return names


def name_parameters(places: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
    """Return a name for each parameter, given its own and its place: `id`, then `query_id`."""
    found: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for name, place in places:
        own = name if name not in taken else _find_free(f"{place}_{name}", taken)
        taken.add(own)
        found[name, place] = own
    return found


def _spell(called: str) -> str:
    name = _OTHER.sub("_", called).strip("_")
    if name and not (name[0].isalpha() or name[0] == "_"):
        name = f"_{name}"
    if len(name) <= MAX_NAME:
        return name
    return f"{name[:_HEAD].rstrip('_-')}_{name[_HEAD + 1 - MAX_NAME :].lstrip('_-')}"


def _find_free(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    for number in count(2):
        suffix = f"_{number}"
        numbered = name[: MAX_NAME - len(suffix)] + suffix
        if numbered not in taken:
            return numbered
    raise AssertionError
