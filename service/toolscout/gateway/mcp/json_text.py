"""Change single objects in the text of a JSON file; all else stays as it is, comments included.

Places are indices into the text. Each function takes the text beside its plain form, which has
blanks in place of comments and trailing commas, so that both have the same places.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"\s*")

INDENT = "  "


class Member(NamedTuple):
    """A key of an object and its value."""

    key: str
    start: int
    """Where its key begins."""
    begin: int
    """Where its value begins."""
    end: int
    """Where its value ends."""


def find_object(plain: str, keys: Sequence[str]) -> int:
    """Return where the value begins to which keys lead from the outermost object."""
    place = plain.index("{")
    for key in keys:
        place = next(one.begin for one in list_members(plain, place) if one.key == key)
    return place


def list_members(plain: str, place: int) -> Iterator[Member]:
    """Yield the members of the object that begins at a place."""
    place = _skip_blanks(plain, place + 1)
    while plain[place] != "}":
        key, end = _DECODER.raw_decode(plain, place)
        begin = _skip_blanks(plain, _skip_blanks(plain, end) + 1)
        _, end = _DECODER.raw_decode(plain, begin)
        yield Member(key, place, begin, end)
        place = _skip_blanks(plain, end)
        if plain[place] == ",":
            place = _skip_blanks(plain, place + 1)


def add_members(text: str, plain: str, place: int, added: Mapping[str, Any]) -> str:
    """Return a text with members after those of the object at a place."""
    there = list(list_members(plain, place))
    inner = _indent_of(text, there[0].start) if there else _indent_of(text, place) + INDENT
    lines = f",\n{inner}".join(_write_added(added, inner))
    if there:
        end = there[-1].end
        return f"{text[:end]},\n{inner}{lines}{text[end:]}"
    outer = _indent_of(text, place)
    return f"{text[: place + 1]}\n{inner}{lines}\n{outer}{text[place + 1 :].lstrip()}"


def replace_members(
    text: str, plain: str, place: int, removed: Collection[str], added: Mapping[str, Any]
) -> str:
    """Return a text whose object at a place has other members; those that are kept come first."""
    there = list(list_members(plain, place))
    inner = _indent_of(text, there[0].start)
    outer = _indent_of(text, place)
    kept = [text[one.start : one.end] for one in there if one.key not in removed]
    lines = f",\n{inner}".join([*kept, *_write_added(added, inner)])
    _, end = _DECODER.raw_decode(plain, place)
    return f"{text[:place]}{{\n{inner}{lines}\n{outer}}}{text[end:]}"


def _write_added(added: Mapping[str, Any], indent: str) -> list[str]:
    values = {key: json.dumps(one, indent=INDENT) for key, one in added.items()}
    lines = [f"{json.dumps(key)}: {text}" for key, text in values.items()]
    return [line.replace("\n", f"\n{indent}") for line in lines]


def _indent_of(text: str, place: int) -> str:
    """Return the blanks with which the line of a place begins."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]


def _skip_blanks(plain: str, place: int) -> int:
    matched = _BLANK.match(plain, place)
    return matched.end() if matched else place
