"""Read questions with the tools that answer them, from JSON lines, JSON or CSV."""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from toolscout.errors import NOT_JSON, InvalidRequest

QUERY_KEYS = ("query", "question", "pattern")
TOOL_KEYS = ("tools", "tool")

MAX_CELL_CHARS = 10_000_000

_SEPARATORS = re.compile(r"[,;|\n]")


class JudgedQuestion(msgspec.Struct, frozen=True):
    """A request and the tools that answer it; none where no tool should be selected."""

    query: str
    tools: tuple[str, ...]


def read_questions(data: bytes, shown: str, names: Collection[str]) -> list[JudgedQuestion]:
    """Read the content of a file, which is called as shown.

    Raises:
        InvalidRequest: an entry has no request, or names a tool that is not known; with its place.
    """
    return merge_questions(_read_answered(data, shown, names), shown)


def merge_questions(
    answered: Iterable[tuple[str, Sequence[str]]], shown: str
) -> list[JudgedQuestion]:
    """Return questions; equal requests become one with the tools of all.

    Raises:
        InvalidRequest: there are none.
    """
    tools_of = dict[str, dict[str, None]]()
    for query, tools in answered:
        tools_of.setdefault(query, {}).update(dict.fromkeys(tools))
    if not tools_of:
        raise InvalidRequest(f"{shown}: there are no questions in it")
    return [JudgedQuestion(query, tuple(tools)) for query, tools in tools_of.items()]


def _read_answered(
    data: bytes, shown: str, names: Collection[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    for place, entry in _read_entries(data, shown):
        query = next((str(entry[key]) for key in QUERY_KEYS if entry.get(key)), "").strip()
        if not query:
            keys = " or ".join(QUERY_KEYS)
            raise InvalidRequest(f"{place}: there is no request; it stands in {keys}")
        if not any(key in entry for key in TOOL_KEYS):
            raise InvalidRequest(f"{place}: there is no `tools`; empty if no tool fits")
        value = next(entry[key] for key in TOOL_KEYS if key in entry)
        if not isinstance(value, str) and not _is_names(value):
            raise InvalidRequest(f"{place}: `tools` is neither a text nor a list of names")
        expected = _read_names(value, names)
        for name in expected:
            if name not in names:
                close = get_close_matches(name, names, 1)
                hint = f"; did you mean {close[0]}?" if close else ""
                raise InvalidRequest(f"{place}: there is no tool {name!r}{hint}")
        yield query, expected


def _read_entries(data: bytes, shown: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each entry with its place in the file."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data[: error.start].count(b"\n") + 1
        raise InvalidRequest(f"{shown}:{number}: not UTF-8") from None
    start = text.lstrip()[:1]
    if start == "[":
        for index, entry in enumerate(_decode(text, shown)):
            yield f"{shown}: [{index}]", _read_object(entry, f"{shown}: [{index}]")
    elif start == "{":
        for at, line in enumerate(text.split("\n"), 1):  # not at other ends of lines
            if line.strip():
                place = f"{shown}:{at}"
                yield place, _read_object(_decode(line, place), place)
    else:
        csv.field_size_limit(MAX_CELL_CHARS)
        rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        try:
            columns = [name.strip().lower() for name in rows.fieldnames or ()]
            if not set(columns) & set(QUERY_KEYS) or not set(columns) & set(TOOL_KEYS):
                expected = "expected the columns query and tools, or JSON lines"
                raise InvalidRequest(f"{shown}:1: {expected}")
            rows.fieldnames = columns
            for row in rows:
                place = f"{shown}:{rows.line_num}"
                if None in row:
                    raise InvalidRequest(f"{place}: too many cells; `;` separates tools")
                if any(row.values()):
                    yield place, row
        except csv.Error as error:
            raise InvalidRequest(f"{shown}:{rows.line_num + 1}: not valid CSV: {error}") from None


def _decode(text: str, place: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except NOT_JSON as error:
        raise InvalidRequest(f"{place}: not valid JSON: {error}") from None


def _read_object(entry: object, place: str) -> Mapping[str, Any]:
    if not isinstance(entry, dict):
        raise InvalidRequest(f"{place}: expected an object with query and tools")
    return entry


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _read_names(value: object, names: Collection[str]) -> list[str]:
    """Return the names of a list, or of a text: one name, or several with separators between."""
    if isinstance(value, list):
        return [name for name in value if isinstance(name, str) and name]
    parts: list[str] = []
    text = str(value or "").strip()
    for part in [text] if text in names else _SEPARATORS.split(text):
        name = part.strip()
        parts += [name] if name in names else name.split()  # a name may have spaces
    return parts
