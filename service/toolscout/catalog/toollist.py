"""A posted tool list, decoded, de-duplicated and named by its content."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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

_OBJECT_OR_NULL = frozenset(b"{n")
_OPEN, _CLOSE = b"[]"

_decode = msgspec.json.Decoder(list[Tool]).decode
_BORDER = re.compile(rb'(?<=\})\s*,\s*(?=\{\s*"name"\s*:)')
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
            _check_objects(path, field, tools)
        return cls.of(tools, limit, path, breathe)


def _tools(raw: bytes | msgspec.Raw, breathe: Breathe) -> list[Tool]:
    """Decode a list piece by piece, so that no call holds the interpreter lock for long.

    It is cut where one tool seems to end and the next to begin. Pieces that are all valid arrays
    make up a valid array: what parses as whole values up to a cut was cut between two values.
    Otherwise the list is decoded at once, which also says what is wrong and where.
    """
    array = memoryview(raw)
    if len(array) <= _PIECE or (array[0], array[-1]) != (_OPEN, _CLOSE):
        return _decode(raw)
    tools: list[Tool] = []
    start, end = 1, len(array) - 1
    try:
        while start < end:
            border = _BORDER.search(array, min(start + _PIECE, end))
            cut, following = border.span() if border else (end, end)
            tools += _decode(b"[" + array[start:cut] + b"]")
            start = following
            breathe()
    except (msgspec.ValidationError, *NOT_JSON):
        return _decode(raw)
    return tools


def _check_objects(root: str, field: str, tools: Sequence[Tool]) -> None:
    """Raw fields are not parsed here, but a string or a list in their place is noticed."""
    raws = list(map(attrgetter(field), tools))
    given = [raw for raw in raws if raw is not ABSENT]
    if _OBJECT_OR_NULL.issuperset([memoryview(raw)[0] for raw in given]):
        return
    for number, raw in enumerate(raws):
        if raw is not ABSENT and memoryview(raw)[0] not in _OBJECT_OR_NULL:
            path = f"{root}[{number}].{field}"
            raise InvalidRequest(
                f"{path} must be an object", (FieldError(path, "expected an object"),)
            )
