"""A posted tool list, decoded, de-duplicated and named by its content."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import attrgetter

import msgspec

from toolscout.contract.bounds import MAX_TOOL_DEPTH
from toolscout.contract.fields import ABSENT, is_absent
from toolscout.contract.tools import RAW_FIELDS, Tool
from toolscout.errors import (
    NOT_JSON,
    FieldError,
    InvalidJson,
    InvalidRequest,
    TooManyTools,
    not_json,
    wrong_field,
)
from toolscout.index import posted
from toolscout.index.values import is_deeper

_raws = attrgetter(*RAW_FIELDS)
_encode = msgspec.json.Encoder().encode


def tool_digest(tool: Tool) -> bytes:
    """SHA-256 over every field of a tool, raw JSON as it was sent; null counts as absent."""
    for raw in _raws(tool):
        if raw is not ABSENT and is_absent(raw):
            tool = _without_nulls(tool)
            break
    return sha256(_encode(tool)).digest()


def _without_nulls(tool: Tool) -> Tool:
    nulls = [field for field in RAW_FIELDS if is_absent(getattr(tool, field))]
    return msgspec.structs.replace(tool, **dict.fromkeys(nulls, ABSENT))


def catalog_digest(tools: Iterable[bytes]) -> str:
    """SHA-256 over the sorted, distinct tool digests: the order of a list does not matter."""
    return sha256(b"".join(sorted(set(tools)))).hexdigest()


MAX_TOOLS = 10_000
"""Distinct tools of one request, unless configured otherwise."""

_OBJECT_OR_NULL = b"{n"


@dataclass(frozen=True, slots=True)
class ToolList:
    """Distinct tools in name order, each with its digest, and the digest of them all."""

    tools: Sequence[Tool]
    digests: tuple[bytes, ...]
    digest: str
    places: tuple[int, ...]
    """Where in the posted list each tool stood first."""
    offered: int
    """Entries of the posted list, those passed over included."""
    unnamed: int = 0
    """A provider's built-ins, which have no name."""

    @classmethod
    def of(
        cls,
        tools: Iterable[Tool],
        limit: int = MAX_TOOLS,
        path: str = "tools",
        numbers: Sequence[int] | None = None,
        unnamed: int = 0,
    ) -> "ToolList":
        """Keep the first tool of each name.

        `path` is where errors say they stood; `numbers` at which place each, if some are left out.

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
        rows = [first[name] for name in sorted(first)]
        tools = tuple([offered[row] for row in rows])
        places = tuple(rows if numbers is None else [numbers[row] for row in rows])
        digests = tuple(map(tool_digest, tools))
        digest = catalog_digest(digests)
        total = len(offered) + unnamed
        return cls(tools, digests, digest, places, total, unnamed)

    @classmethod
    def decode(
        cls,
        raw: bytes | msgspec.Raw,
        limit: int = MAX_TOOLS,
        path: str = "tools",
    ) -> "ToolList":
        """Decode a JSON array of tools of any shape, or an object with one, as MCP answers.

        Definitions stay raw. `path` is where errors say it stood.

        Raises:
            InvalidRequest: a tool lacks its name or a field has the wrong type.
            InvalidJson: the array is not valid JSON.
            TooManyTools: more than `limit` distinct names.
        """
        try:
            raw, path = posted.unwrap(raw, path)
            found = posted.decode(raw, limit, path)
        except msgspec.ValidationError as error:
            wrong = wrong_field(path, error)
            raise InvalidRequest(f"{wrong.path}: {wrong.message}", (wrong,)) from None
        except NOT_JSON as error:
            raise InvalidJson(f"{path} is not valid JSON", (not_json(path, error),)) from None
        for field in RAW_FIELDS:
            raws = map(attrgetter(field), found.tools)
            _check_objects(path, field, zip(found.numbers, raws, strict=True))
        return cls.of(found.tools, limit, path, found.numbers, found.unnamed)


def _check_objects(root: str, field: str, raws: Iterable[tuple[int, msgspec.Raw]]) -> None:
    """Raw fields are not parsed here, but what is no object, or nested too deep, is noticed.

    The parser has a limit of its own, which depends on how deep the caller's stack is: without
    ours a definition could be compiled, and then not be shown.
    """
    for number, raw in raws:
        if raw is ABSENT:
            continue
        view = memoryview(raw)
        if view[0] not in _OBJECT_OR_NULL:
            path = f"{root}[{number}].{field}"
            raise InvalidRequest(
                f"{path} must be an object", (FieldError(path, "expected an object"),)
            )
        if is_deeper(view, MAX_TOOL_DEPTH):
            path = f"{root}[{number}].{field}"
            message = f"nested more than {MAX_TOOL_DEPTH} levels deep"
            raise InvalidJson(f"{path} is {message}", (FieldError(path, message),))
