"""Convert tools of any provider's shape to the contract's."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from toolscout.contract.fields import ABSENT
from toolscout.contract.tools import RAW_FIELDS, Tool
from toolscout.errors import FieldError, InvalidRequest, InvalidTool, wrong_field
from toolscout.tools.shapes import (
    DECLARATIONS,
    INPUT_EXAMPLES,
    LISTS,
    OUTPUT_SCHEMAS,
    SCHEMAS,
    SUPPORTED,
    WRAPPERS,
    as_mapping,
    core_of,
    is_nameless_builtin,
    name_of,
    schema_of,
    unfold_declared,
)

FOREIGN_KEYS = tuple(
    key
    for key in (
        "title",
        *WRAPPERS,
        *SCHEMAS,
        *DECLARATIONS,
        *OUTPUT_SCHEMAS,
        *INPUT_EXAMPLES,
    )
    if key not in Tool.__struct_fields__
)
"""Keys that only providers' shapes have; a tool with one is converted."""

_DEEPEST = 3
"""Most levels above a list of tools: `result.tools` of a JSON-RPC answer has two."""

_log = logging.getLogger("toolscout.tools")

_OF_AUTHORS = frozenset(("name", "description", *RAW_FIELDS))
"""Fields that a tool has from its author; callers add the others."""

_encode = msgspec.json.Encoder().encode
_FIELDS = frozenset(Tool.__struct_fields__)
_FOREIGN = frozenset(FOREIGN_KEYS)


def list_in(content: Any) -> Any:
    """Return the list of tools that an answer or a request carries; anything else as it is.

    `{"tools": [...]}`, `{"result": {"tools": [...]}}`, a search request.
    """
    for _ in range(_DEEPEST):
        if not isinstance(content, Mapping):
            break
        key = next((key for key in LISTS if content.get(key) is not None), None)
        if key is None:
            break
        content = content[key]
    return content


NO_OBJECT = "expected an object"
"""What is wrong with a definition, parameters or annotations of another kind."""

_OBJECT_OR_NULL = b"{n"

MAX_SHOWN = 8
"""Skipped entries of a list that are named."""


class Skipped(NamedTuple):
    """The entries of a list that are no tools."""

    entries: int = 0
    wrong: tuple[FieldError, ...] = ()
    """What the first of them lack to be tools."""
    unnamed: tuple[str, ...] = ()
    """The places of the first built-ins of a provider, which have no name."""

    @property
    def notes(self) -> list[str]:
        """Return the skipped entries with the reason in words; nothing if there are none."""
        named = [f"{error.path} ({error.message})" for error in self.wrong]
        named += [f"{place} (a built-in without a name)" for place in self.unnamed]
        if not named:
            return []
        more = self.entries - len(named)
        return [f"skipped: {', '.join(named)}" + (f" and {more} more" if more else "")]


NONE_SKIPPED = Skipped()


class Posted:
    """The tools of a list, where each stood, and the entries that are none, as they are read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.tools: list[Tool] = []
        self.numbers: list[int] = []
        self._count = 0
        self._wrong: list[FieldError] = []
        self._unnamed: list[str] = []

    def __len__(self) -> int:
        return len(self.tools) + self._count

    @property
    def skipped(self) -> Skipped:
        """Return what is no tool."""
        return Skipped(self._count, tuple(self._wrong), tuple(self._unnamed))

    def add(self, tools: Sequence[Tool], numbers: Sequence[int]) -> None:
        """Take tools that were read, each with the position of its entry."""
        self.tools += tools
        self.numbers += numbers

    def read(self, number: int, entry: Any, sent: msgspec.Raw | None = None) -> None:
        """Take the tools of one entry of any shape, or skip it.

        Raises:
            InvalidRequest: a field that only callers add is wrong: what it should do, such as to
                hide a tool, must not be undone in silence.
        """
        if isinstance(entry, Tool):
            self.add([entry], [number])
            return
        path = f"{self._path}[{number}]"
        try:
            tools, unnamed = read_entry(entry, path, sent)
        except InvalidTool as error:
            self.skip(error.errors[0] if error.errors else FieldError(path, error.detail))
            return
        self.add(tools, [number] * len(tools))
        if unnamed and len(self._unnamed) < MAX_SHOWN:
            self._unnamed.append(path)
        self._count += unnamed

    def skip(self, error: FieldError) -> None:
        """Skip an entry that is no tool."""
        self._count += 1
        if len(self._wrong) < MAX_SHOWN:
            self._wrong.append(error)


def read_list(values: Iterable[Any], path: str = "tools") -> Posted:
    """Convert tools of any shape; what is no tool is skipped.

    Raises:
        InvalidRequest: a field that only callers add is wrong.
    """
    posted = Posted(path)
    for number, value in enumerate(values):
        posted.read(number, value)
    return posted


def read_usable(values: Iterable[Any], path: str = "tools") -> Posted:
    """Convert tools of any shape, with a warning in the log about what is no tool.

    Raises:
        InvalidRequest: there are entries and none is a tool, or a field that only callers add is
            wrong.
    """
    posted = read_list(values, path)
    if not posted.tools:
        check_whole((), posted.skipped, path)
    for note in posted.skipped.notes:
        _log.warning("%s", note)
    return posted


def read_tools(values: Iterable[Any], path: str = "tools") -> list[Tool]:
    """Convert tools of any shape; a provider's built-ins without a name are skipped.

    Raises:
        InvalidRequest: an entry is no tool, or there is none; names the entry.
    """
    posted = read_list(values, path)
    check_whole(posted.tools, posted.skipped, path)
    return posted.tools


def check_whole(tools: Sequence[object], skipped: Skipped, path: str = "tools") -> None:
    """Check that a list has at least one tool, and nothing that should have been one.

    Raises:
        InvalidRequest: it has; names the entries, or lists the known shapes.
    """
    if skipped.wrong:
        first = skipped.wrong[0]
        raise InvalidTool(f"{first.path}: {first.message}", skipped.wrong)
    if skipped.entries and not tools:
        message = f"none of the {skipped.entries} entries has a name; a tool is one of: {SUPPORTED}"
        raise InvalidRequest(f"{path}: {message}", (FieldError(path, message),))


def read_entry(entry: Any, path: str, sent: msgspec.Raw | None = None) -> tuple[list[Tool], int]:
    """Return the tools of one entry, and the number of its built-ins without a name.

    `sent` is the entry as JSON, used as the tool's definition if there is no other.

    Raises:
        InvalidTool: the entry is no tool.
        InvalidRequest: a field that only callers add is wrong.
    """
    tools: list[Tool] = []
    functions, rest = unfold_declared(entry, path)
    unnamed = int(bool(rest) or not functions)
    for one in functions:
        fields = as_mapping(one, path)
        if not name_of(fields) and is_nameless_builtin(fields):
            unnamed += 1
        else:
            tools.append(_read_tool(fields, path, sent if one is entry else None))
    return tools, unnamed


def is_raw_object(raw: msgspec.Raw) -> bool:
    """Return whether a field of a tool that stays raw may be what it is: an object, or null."""
    return memoryview(raw)[0] in _OBJECT_OR_NULL


def _read_tool(entry: Mapping[str, Any], path: str, sent: msgspec.Raw | None) -> Tool:
    fields = {key: value for key, value in entry.items() if key in _FIELDS}
    fields["name"] = name_of(entry) or entry.get("name")
    if fields["name"] is None:
        message = f"a tool needs a name; it is one of: {SUPPORTED}"
        raise InvalidTool(f"{path}.name is missing", (FieldError(path, message),))
    if not isinstance(fields.get("description"), str):
        fields["description"] = core_of(entry).get("description")
    try:
        if not _FOREIGN.isdisjoint(entry):
            if fields.get("definition") is None:
                fields.pop("parameters", None)
                fields["definition"] = sent or entry
            elif schema := schema_of(entry):
                fields["parameters"] = schema
        for key in RAW_FIELDS:
            value = fields.get(key)
            if value is None:
                fields[key] = ABSENT
            elif not isinstance(value, msgspec.Raw):
                fields[key] = msgspec.Raw(_encode(value))
        tool = msgspec.convert(fields, Tool)
    except msgspec.ValidationError as error:
        wrong = wrong_field(path, error)
        is_its_own = wrong.path.removeprefix(f"{path}.") in _OF_AUTHORS
        kind = InvalidTool if is_its_own else InvalidRequest
        raise kind(f"{wrong.path}: {wrong.message}", (wrong,)) from None
    except (TypeError, ValueError, RecursionError) as error:
        message = f"cannot be written as JSON ({type(error).__name__})"
        raise InvalidTool(f"{path}: {message}", (FieldError(path, message),)) from None
    _check_raw_fields(tool, path)
    return tool


def _check_raw_fields(tool: Tool, path: str) -> None:
    for key in RAW_FIELDS:
        raw = getattr(tool, key)
        if raw is not ABSENT and not is_raw_object(raw):
            place = f"{path}.{key}"
            raise InvalidTool(f"{place}: {NO_OBJECT}", (FieldError(place, NO_OBJECT),))
