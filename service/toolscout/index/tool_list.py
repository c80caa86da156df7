"""A posted tool list, decoded, de-duplicated and named by its content."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter

import msgspec

from toolscout.common.pauses import Breathe, at_once
from toolscout.contract import ABSENT, RAW_FIELDS, Tool
from toolscout.contract.bounds import MAX_OFFERED, MAX_TOOL_VALUES
from toolscout.errors import (
    NOT_JSON,
    FieldError,
    InvalidJson,
    InvalidRequest,
    TooManyTools,
    not_json,
    wrong_field,
)
from toolscout.index.values import count_values, count_values_outside_texts
from toolscout.tools.digest import catalog_digest, tool_digest

MAX_TOOLS = 10_000
"""Distinct tools of one request, unless configured otherwise."""

_OBJECT_OR_NULL = b"{n"
_CLOSE = ord("]")

_decode = msgspec.json.Decoder(list[Tool]).decode
_entries = msgspec.json.Decoder(list[msgspec.Raw]).decode
_PLACE = re.compile(r"`\$\[(\d+)\]")
_OPENING = re.compile(rb'\[[ \t\r\n]*\{[ \t\r\n]*("[^"\\]{0,32}")')
"""The beginning of a list, with the first key of its first tool: others mostly have the same."""

_WRONG_CUTS = 16
"""Cuts between objects inside tools that are put up with before a list is decoded at once."""

_PIECE = 1 << 17
"""Bytes of a list that are decoded in one call, which holds the interpreter lock: 0.2 ms."""

_WINDOW = 1 << 20
"""Bytes that are searched for a border in one call: 16 ms."""

_FEW = 250
"""Distinct tools that a list is taken to have at least where entries are bounded."""


@dataclass(frozen=True, slots=True)
class ToolList:
    """Distinct tools in name order, each with its digest, and the digest of them all."""

    tools: tuple[Tool, ...]
    digests: tuple[bytes, ...]
    digest: str
    places: tuple[int, ...]
    """Where in the posted list each tool stood first."""
    offered: int

    @classmethod
    def of(
        cls,
        tools: Iterable[Tool],
        limit: int = MAX_TOOLS,
        path: str = "tools",
        breathe: Breathe = at_once,
    ) -> "ToolList":
        """Keep the first tool of each name. `path` is where errors say they stood.

        Raises:
            TooManyTools: more than `limit` distinct names.
        """
        offered = list(tools)
        # Backwards, so that of equal names the first one stays.
        names = [tool.name for tool in reversed(offered)]
        first = dict(zip(names, range(len(names) - 1, -1, -1), strict=True))
        if len(first) > limit:
            raise TooManyTools(
                f"{path} holds {len(first)} distinct names; the limit is {limit}",
                (FieldError(path, f"at most {limit} distinct names, got {len(first)}"),),
            )
        places = tuple([first[name] for name in sorted(first)])
        tools = tuple([offered[place] for place in places])
        digests = []
        for tool in tools:
            digests.append(tool_digest(tool))
            breathe()
        return cls(tools, tuple(digests), catalog_digest(digests), places, len(offered))

    @classmethod
    def decode(
        cls,
        raw: bytes | msgspec.Raw,
        limit: int = MAX_TOOLS,
        path: str = "tools",
        breathe: Breathe = at_once,
    ) -> "ToolList":
        """Decode a JSON array of tools; definitions stay raw. `path` is where errors say it stood.

        `breathe` is called after every small piece of work.

        Raises:
            InvalidRequest: a tool lacks its name or a field has the wrong type.
            InvalidJson: the array is not valid JSON.
            TooManyTools: more than `limit` distinct names.
        """
        try:
            tools = _tools(raw, limit, path, breathe)
        except msgspec.ValidationError as error:
            wrong = wrong_field(path, error)
            raise InvalidRequest(f"{wrong.path}: {wrong.message}", (wrong,)) from None
        except NOT_JSON as error:
            raise InvalidJson(f"{path} is not valid JSON", (not_json(path, error),)) from None
        for field in RAW_FIELDS:
            _check_objects(path, field, map(attrgetter(field), tools))
        return cls.of(tools, limit, path, breathe)


def _tools(raw: bytes | msgspec.Raw, limit: int, path: str, breathe: Breathe) -> list[Tool]:
    """Decode a list piece by piece, so that no call holds the interpreter lock for long.

    It is cut where one tool seems to end and the next to begin. Pieces that are all valid arrays
    make up a valid array: what parses as whole values up to a cut was cut between two values.
    Otherwise the list is taken apart as a whole, which also says what is wrong and where.

    Raises:
        TooManyTools: it has more entries than may be offered.
        InvalidRequest: a tool has too many values.
    """
    array = memoryview(raw)
    most = max(limit, _FEW) * MAX_OFFERED
    if len(array) <= _PIECE:
        return _apart(raw, most, path, breathe) if _is_dense(array) else _decode(raw)
    opening = _OPENING.match(array)
    if opening is None or array[-1] != _CLOSE:
        return _apart(raw, most, path, breathe)
    border = _border(opening[1])
    tools: list[Tool] = []
    start = reach = 1
    end, wrong = len(array) - 1, 0
    while start < end:
        found = _next(border, array, min(max(start + _PIECE, reach), end), end)
        cut, following = found.span() if found else (end, end)
        if _is_dense(array[start:cut]):
            return _apart(raw, most, path, breathe)
        try:
            tools += _decode(b"[" + array[start:cut] + b"]")
        except (msgspec.DecodeError, *NOT_JSON) as error:
            wrong += 1
            if isinstance(error, msgspec.ValidationError) or cut == end or wrong > _WRONG_CUTS:
                return _apart(raw, most, path, breathe)
            reach = following  # it was a border between objects inside a tool
            continue
        start = following
        _check_offered(len(tools), most, path)
        breathe()
    return tools


def _apart(raw: bytes | msgspec.Raw, most: int, path: str, breathe: Breathe) -> list[Tool]:
    """Decode a list entry by entry: none is read before its values are known to be few."""
    entries = _entries(raw)
    _check_offered(len(entries), most, path)
    tools: list[Tool] = []
    group: list[memoryview] = []
    size = 0
    for number, entry in enumerate(entries):
        view = memoryview(entry)
        if _is_dense(view):
            where = f"{path}[{number}]"
            count = count_values_outside_texts(view)
            message = f"at most {MAX_TOOL_VALUES} values in one tool, got {count}"
            raise InvalidRequest(f"{where}: {message}", (FieldError(where, message),))
        group.append(view)
        size += len(view)
        if size > _PIECE or number == len(entries) - 1:
            try:
                tools += _decode(b"[" + b",".join(group) + b"]")
            except msgspec.ValidationError as error:
                raise _moved(error, len(tools)) from None
            group, size = [], 0
            breathe()
    return tools


def _is_dense(part: memoryview) -> bool:
    """Tell whether a part of a list has more values than one tool may have."""
    return (
        len(part) > MAX_TOOL_VALUES
        and count_values(part) > MAX_TOOL_VALUES
        and count_values_outside_texts(part) > MAX_TOOL_VALUES
    )


def _moved(error: msgspec.ValidationError, by: int) -> msgspec.ValidationError:
    """Say of an error in a part of a list where it is in the whole."""
    text = _PLACE.sub(lambda place: f"`$[{int(place[1]) + by}]", str(error), count=1)
    return msgspec.ValidationError(text)


def _check_offered(offered: int, most: int, path: str) -> None:
    if offered > most:
        message = f"at most {most} entries, got {offered} or more"
        raise TooManyTools(f"{path}: {message}", (FieldError(path, message),))


def _next(
    border: re.Pattern[bytes], array: memoryview, at: int, end: int
) -> re.Match[bytes] | None:
    """Find the next border, in windows: one search holds the interpreter lock to its end.

    A border across the end of a window is missed, so that a piece is longer by a tool or two.
    """
    while at < end:
        found = border.search(array, at, min(at + _WINDOW, end))
        if found:
            return found
        at += _WINDOW
    return None


@lru_cache(maxsize=64)
def _border(key: bytes) -> re.Pattern[bytes]:
    """What stands between two tools that both begin with a key."""
    return re.compile(
        rb"(?<=\})[ \t\r\n]*,[ \t\r\n]*(?=\{[ \t\r\n]*" + re.escape(key) + rb"[ \t\r\n]*:)"
    )


def _check_objects(root: str, field: str, raws: Iterable[msgspec.Raw]) -> None:
    """Raw fields are not parsed here, but a string or a list in their place is noticed."""
    for number, raw in enumerate(raws):
        if raw is not ABSENT and memoryview(raw)[0] not in _OBJECT_OR_NULL:
            path = f"{root}[{number}].{field}"
            raise InvalidRequest(
                f"{path} must be an object", (FieldError(path, "expected an object"),)
            )
