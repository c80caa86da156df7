"""Names for operations: readable, unique, and such as every provider takes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from toolscout.tools.naming import find_free, spell_name


def name_operations(wanted: Iterable[tuple[str, str]]) -> list[str]:
    """Return a name for each operation, given what it is called and how else it may be called.

    Who is called by a name to the letter has it; others get the next number that nobody wants.
    """
    spelt = [(called, spell_name(called) or spell_name(otherwise)) for called, otherwise in wanted]
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
        own = name if owners[name] == number else find_free(name, taken, numbers[name])
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
