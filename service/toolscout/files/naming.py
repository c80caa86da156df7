"""Names for operations: readable, unique, and such as every provider takes."""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
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
    numbers: dict[str, Iterator[int]] = defaultdict(lambda: count(2))
    names = []
    for number, (_, name) in enumerate(spelt):
        own = name if owners[name] == number else _number(name, taken, numbers[name])
        taken.add(own)
        names.append(own)
    return names


def name_parameters(places: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
    """Return a name for each parameter, given its own and its place: `id`, then `query_id`."""
    found: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for name, place in places:
        own = name if name not in taken else find_free(f"{place}_{name}", taken)
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


def find_free(name: str, taken: Container[str]) -> str:
    """Return a name that is not taken: this one, or it with a number."""
    return name if name not in taken else _number(name, taken, count(2))


def _number(name: str, taken: Container[str], numbers: Iterator[int]) -> str:
    numbered = (f"{name[: MAX_NAME - len(str(n)) - 1]}_{n}" for n in numbers)
    return next(one for one in numbered if one not in taken)
