"""A posted tool list, decoded, de-duplicated and named by its content."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter

import msgspec

from toolscout.catalog.digest import catalogue_digest, tool_digest
from toolscout.contract import ABSENT, RAW_FIELDS, Tool
from toolscout.errors import (
    NOT_JSON,
    FieldError,
    InvalidJson,
    InvalidRequest,
    TooManyTools,
    not_json,
    wrong_field,
)
from toolscout.pauses import Breathe, at_once

MAX_TOOLS = 10_000
"""Distinct tools of one request, unless configured otherwise."""

_OBJECT_OR_NULL = b"{n"
_CLOSE = ord("]")

_decode = msgspec.json.Decoder(list[Tool]).decode
_OPENING = re.compile(rb'\[[ \t\r\n]*\{[ \t\r\n]*("[^"\\]{0,32}")')
"""The beginning of a list, with the first key of its first tool: others mostly have the same."""

_WRONG_CUTS = 16
"""Cuts between objects inside tools that are put up with before a list is decoded at once."""

_PIECE = 1 << 17
"""Bytes of a list that are decoded in one call, which holds the interpreter lock: 0.2 ms."""


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
        return cls(tools, tuple(digests), catalogue_digest(digests), places, len(offered))

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
            tools = _tools(raw, breathe)
        except msgspec.ValidationError as error:
            wrong = wrong_field(path, error)
            raise InvalidRequest(f"{wrong.path}: {wrong.message}", (wrong,)) from None
        except NOT_JSON as error:
            raise InvalidJson(f"{path} is not valid JSON", (not_json(path, error),)) from None
        for field in RAW_FIELDS:
            _check_objects(path, field, map(attrgetter(field), tools))
        return cls.of(tools, limit, path, breathe)


def _tools(raw: bytes | msgspec.Raw, breathe: Breathe) -> list[Tool]:
    """Decode a list piece by piece, so that no call holds the interpreter lock for long.

    It is cut where one tool seems to end and the next to begin. Pieces that are all valid arrays
    make up a valid array: what parses as whole values up to a cut was cut between two values.
    Otherwise the list is decoded at once, which also says what is wrong and where.
    """
    array = memoryview(raw)
    opening = _OPENING.match(array) if len(array) > _PIECE else None
    if opening is None or array[-1] != _CLOSE:
        return _decode(raw)
    border = _border(opening[1])
    tools: list[Tool] = []
    start = reach = 1
    end, wrong = len(array) - 1, 0
    while start < end:
        found = border.search(array, min(max(start + _PIECE, reach), end))
        cut, following = found.span() if found else (end, end)
        try:
            tools += _decode(b"[" + array[start:cut] + b"]")
        except (msgspec.DecodeError, *NOT_JSON) as error:
            wrong += 1
            if isinstance(error, msgspec.ValidationError) or cut == end or wrong > _WRONG_CUTS:
                return _decode(raw)
            reach = following  # it was a border between objects inside a tool
            continue
        start = following
        breathe()
    return tools


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
