"""A posted tool list, decoded, de-duplicated and named by its content."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import attrgetter
from typing import Any

import msgspec

from toolscout.common.json_errors import explain_json
from toolscout.contract.bounds import MAX_OFFERED, MAX_TOOL_DEPTH, MAX_TOOL_VALUES
from toolscout.contract.fields import ABSENT, is_absent
from toolscout.contract.tools import RAW_FIELDS, Tool
from toolscout.errors import (
    NOT_JSON,
    FieldError,
    InvalidJson,
    InvalidRequest,
    TooManyTools,
    wrong_field,
)
from toolscout.index.values import count_values, count_values_outside_texts, is_deeper
from toolscout.tools.conversion import (
    FOREIGN_KEYS,
    NO_OBJECT,
    NONE_SKIPPED,
    Posted,
    Skipped,
    check_whole,
    is_raw_object,
)
from toolscout.tools.shapes import LISTS

_OBJECT = b"{"[0]
_KINDS = {b'"': "str", b"[": "array", b"t": "bool", b"f": "bool", b"n": "null"}

_PostedTool: Any = msgspec.defstruct(
    "PostedTool",
    [(key, msgspec.Raw, ABSENT) for key in FOREIGN_KEYS],
    bases=(Tool,),
    frozen=True,
    omit_defaults=True,
    gc=False,
)
"""A tool that tells whether it has keys of a provider's shape."""

_Answer: Any = msgspec.defstruct("Answer", [(key, msgspec.Raw, ABSENT) for key in LISTS])

_decode: Any = msgspec.json.Decoder(list[_PostedTool]).decode
_decode_answer: Any = msgspec.json.Decoder(_Answer).decode
split_entries = msgspec.json.Decoder(list[msgspec.Raw]).decode
"""Cut a JSON array into its entries."""
_foreign = attrgetter(*FOREIGN_KEYS)
_NOTHING = (ABSENT,) * len(FOREIGN_KEYS)

_GROUP = 1 << 17
"""Bytes of tools that are decoded together."""

_FEW = 250
"""Distinct tools that a list is taken to have at least where entries are bounded."""

_DEPTH = 3
"""Objects around a list: `result.tools` of a JSON-RPC answer, one more to spare."""


def unwrap_list(raw: bytes | msgspec.Raw, path: str) -> tuple[bytes | msgspec.Raw, str]:
    """Find the list in an answer to MCP's `tools/list` or in another object around it.

    Raises:
        InvalidRequest: an object holds no list of tools.
    """
    for _ in range(_DEPTH):
        if bytes(memoryview(raw)[:1]) != b"{":
            break
        answer = _decode_answer(raw)
        key = next((key for key in LISTS if getattr(answer, key) is not ABSENT), None)
        if key is None:
            message = "expected a list of tools, or an object with `tools`"
            raise InvalidRequest(f"{path}: {message}", (FieldError(path, message),))
        raw = getattr(answer, key)
        path = f"{path}.{key}"
    return raw, path


def decode_list(raw: bytes | msgspec.Raw, limit: int, path: str) -> Posted:
    """Decode a list of tools of any shape; definitions stay raw, and what is no tool is skipped.

    None is decoded before its values are known to be few.

    Raises:
        TooManyTools: it has more entries than may be offered.
        InvalidRequest: a tool has too many values, or a wrong field that only callers add.
        msgspec.ValidationError, msgspec.DecodeError: the list is no array, or no JSON.
    """
    most = max(limit, _FEW) * MAX_OFFERED
    entries = split_entries(raw)
    _check_offered(len(entries), most, path)
    posted = Posted(path)
    group: list[memoryview] = []
    size = 0
    for number, entry in enumerate(entries):
        view = memoryview(entry)
        _check_dense(view, f"{path}[{number}]")
        group.append(view)
        size += len(view)
        if size <= _GROUP and number < len(entries) - 1:
            continue
        first = number + 1 - len(group)
        plain = _decode_plain(group)
        if plain is not None:
            posted.add(plain, range(first, number + 1))
        else:
            for at, single in enumerate(group, first):
                # One by one, so that the digest of a tool does not depend on those beside it.
                if (alone := _decode_plain([single])) is not None:
                    posted.add(alone, [at])
                else:
                    _read(posted, at, entries[at], f"{path}[{at}]")
        _check_offered(len(posted), most, path)
        group = []
        size = 0
    return posted


def _decode_plain(group: list[memoryview]) -> list[Tool] | None:
    """Tools that are all of the contract's own shape; None of others."""
    try:
        tools: list[Tool] = _decode(b"[" + b",".join(group) + b"]")
    except msgspec.ValidationError:
        return None
    return None if _has_foreign(tools) else tools


def _read(posted: Posted, number: int, entry: msgspec.Raw, path: str) -> None:
    """Read one entry of any shape.

    Raises:
        InvalidJson: it is not valid JSON.
    """
    if memoryview(entry)[0] != _OBJECT:
        kind = _KINDS.get(bytes(entry)[:1], "number")
        posted.skip(FieldError(path, f"expected an object, got {kind}"))
        return
    try:
        fields = msgspec.json.decode(entry)
    except NOT_JSON as error:
        raise InvalidJson(f"{path} is not valid JSON", (explain_json(path, error),)) from None
    posted.read(number, fields, entry)


def _has_foreign(tools: list[Any]) -> bool:
    return any(values != _NOTHING for values in map(_foreign, tools))


def _check_dense(entry: memoryview, path: str) -> None:
    if _is_dense(entry):
        count = count_values_outside_texts(entry)
        message = f"at most {MAX_TOOL_VALUES} values in one tool, got {count}"
        raise InvalidRequest(f"{path}: {message}", (FieldError(path, message),))


def _is_dense(part: memoryview) -> bool:
    """Tell whether a part of a list has more values than one tool may have."""
    return (
        len(part) > MAX_TOOL_VALUES
        and count_values(part) > MAX_TOOL_VALUES
        and count_values_outside_texts(part) > MAX_TOOL_VALUES
    )


def _check_offered(offered: int, most: int, path: str) -> None:
    if offered > most:
        each = f"{MAX_OFFERED} for each tool allowed"
        message = f"at most {most} entries ({each}), got {offered} or more; {RAISE}"
        raise TooManyTools(f"{path}: {message}", (FieldError(path, message),))


_raws = attrgetter(*RAW_FIELDS)
_encode = msgspec.json.Encoder().encode


def hash_tool(tool: Tool) -> bytes:
    """SHA-256 over every field of a tool, raw JSON as it was sent; null counts as absent."""
    for raw in _raws(tool):
        if raw is not ABSENT and is_absent(raw):
            tool = _drop_nulls(tool)
            break
    return sha256(_encode(tool)).digest()


def _drop_nulls(tool: Tool) -> Tool:
    nulls = [field for field in RAW_FIELDS if is_absent(getattr(tool, field))]
    return msgspec.structs.replace(tool, **dict.fromkeys(nulls, ABSENT))


def hash_catalog(tools: Iterable[bytes]) -> str:
    """SHA-256 over the sorted, distinct tool digests: the order of a list does not matter."""
    return sha256(b"".join(sorted(set(tools)))).hexdigest()


MAX_TOOLS = 10_000
"""Distinct tools of one request, unless configured otherwise."""

RAISE = "max_tools (TOOLSCOUT_MAX_TOOLS) raises it"
"""What is said where that limit is met; of entries there may be `MAX_OFFERED` times as many."""


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
    skipped: Skipped = NONE_SKIPPED
    """The entries that are no tools."""

    @classmethod
    def of(
        cls,
        tools: Iterable[Tool],
        limit: int = MAX_TOOLS,
        path: str = "tools",
        numbers: Sequence[int] | None = None,
        skipped: Skipped = NONE_SKIPPED,
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
                f"{path} holds {len(first)} distinct names; the limit is {limit}: {RAISE}",
                (FieldError(path, f"at most {limit} distinct names, got {len(first)}"),),
            )
        rows = [first[name] for name in sorted(first)]
        tools = tuple([offered[row] for row in rows])
        places = tuple(rows if numbers is None else [numbers[row] for row in rows])
        digests = tuple(map(hash_tool, tools))
        digest = hash_catalog(digests)
        total = len(offered) + skipped.entries
        return cls(tools, digests, digest, places, total, skipped)

    def checked(self, path: str = "tools") -> "ToolList":
        """Return the list if nothing was skipped that should have been a tool.

        Raises:
            InvalidRequest: something was.
        """
        check_whole(self.tools, self.skipped, path)
        return self

    def only(self, passes: Callable[[Tool], bool]) -> "ToolList":
        """Return the list of the tools that pass, as if only these had been posted."""
        rows = [row for row, tool in enumerate(self.tools) if passes(tool)]
        tools = tuple([self.tools[row] for row in rows])
        digests = tuple([self.digests[row] for row in rows])
        places = tuple([self.places[row] for row in rows])
        return ToolList(tools, digests, hash_catalog(digests), places, len(tools))

    @classmethod
    def decode(
        cls,
        raw: bytes | msgspec.Raw,
        limit: int = MAX_TOOLS,
        path: str = "tools",
    ) -> "ToolList":
        """Decode a JSON array of tools of any shape, or an object with one, as MCP answers.

        Definitions stay raw. What is no tool is skipped. `path` is where errors say it stood.

        Raises:
            InvalidRequest: it is no array, or a tool has too many values or a wrong field that only
                callers add.
            InvalidJson: the array is not valid JSON.
            TooManyTools: more than `limit` distinct names.
        """
        try:
            raw, path = unwrap_list(raw, path)
            posted = decode_list(raw, limit, path)
        except msgspec.ValidationError as error:
            wrong = wrong_field(path, error)
            raise InvalidRequest(f"{wrong.path}: {wrong.message}", (wrong,)) from None
        except NOT_JSON as error:
            raise InvalidJson(f"{path} is not valid JSON", (explain_json(path, error),)) from None
        odd = _find_non_objects(path, posted)
        for place in sorted(odd, reverse=True):
            del posted.tools[place], posted.numbers[place]
            posted.skip(odd[place])
        return cls.of(posted.tools, limit, path, posted.numbers, posted.skipped)


def _find_non_objects(root: str, posted: Posted) -> dict[int, FieldError]:
    """Return the tools with a raw field that is no object, by row; one nested too deep is an error.

    Raw fields are not parsed here. The parser has a limit of its own, which depends on how deep the
    caller's stack is: without ours a definition could be compiled, and then not be shown.

    Raises:
        InvalidJson: a field is nested too deep.
    """
    odd: dict[int, FieldError] = {}
    for field in RAW_FIELDS:
        for row, raw in enumerate(map(attrgetter(field), posted.tools)):
            if raw is ABSENT:
                continue
            is_object = is_raw_object(raw)
            if is_object and not is_deeper(memoryview(raw), MAX_TOOL_DEPTH):
                continue
            path = f"{root}[{posted.numbers[row]}].{field}"
            if is_object:
                message = f"nested more than {MAX_TOOL_DEPTH} levels deep"
                raise InvalidJson(f"{path} is {message}", (FieldError(path, message),))
            odd[row] = FieldError(path, NO_OBJECT)
    return odd
