"""Convert tools of any provider's shape to the contract's."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from toolscout.contract.fields import ABSENT, KINDS
from toolscout.contract.tools import RAW_FIELDS, Tool
from toolscout.errors import FieldError, InvalidRequest, wrong_field
from toolscout.tools.shapes import (
    DECLARATIONS,
    INPUT_EXAMPLES,
    KNOWN,
    LISTS,
    OUTPUT_SCHEMAS,
    SCHEMAS,
    WRAPPERS,
    as_mapping,
    core_of,
    declared,
    is_nameless_builtin,
    name_of,
    schema_of,
)

FOREIGN_KEYS = tuple(
    key
    for key in (
        *("title", *WRAPPERS, *SCHEMAS, *DECLARATIONS),
        *(*OUTPUT_SCHEMAS, *INPUT_EXAMPLES),
    )
    if key not in Tool.__struct_fields__
)
"""Keys that only providers' shapes have; a tool with one is converted."""

_DEEPEST = 3
"""Most levels above a list of tools: `result.tools` of a JSON-RPC answer has two."""

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


def read_tools(values: Iterable[Any], path: str = "tools") -> list[Tool]:
    """Convert tools of any shape; a provider's built-ins without a name are skipped.

    Raises:
        InvalidRequest: an entry is no tool, or there is none; names the entry.
    """
    tools: list[Tool] = []
    offered = 0
    for number, value in enumerate(values):
        found, unnamed = read_entry(value, f"{path}[{number}]")
        tools += found
        offered += len(found) + unnamed
    check_usable(len(tools), offered, path)
    return tools


def read_entry(entry: Any, path: str, sent: msgspec.Raw | None = None) -> tuple[list[Tool], int]:
    """Return the tools of one entry, and the number of its built-ins without a name.

    `sent` is the entry as JSON, used as the tool's definition if there is no other.

    Raises:
        InvalidRequest: the entry is no tool.
    """
    tools: list[Tool] = []
    functions, rest = declared(entry, path)
    unnamed = int(bool(rest) or not functions)
    for one in functions:
        whole = as_mapping(one, path)
        if not name_of(whole) and is_nameless_builtin(whole):
            unnamed += 1
        else:
            tools.append(_tool(whole, path, sent if one is entry else None))
    return tools, unnamed


def check_usable(tools: int, offered: int, path: str) -> None:
    """Check that a non-empty list has at least one usable tool.

    Raises:
        InvalidRequest: it has none; the message lists the known shapes.
    """
    if offered and not tools:
        message = f"none of the {offered} entries has a name; a tool is one of: {KNOWN}"
        raise InvalidRequest(f"{path}: {message}", (FieldError(path, message),))


def _tool(entry: Mapping[str, Any], path: str, sent: msgspec.Raw | None) -> Tool:
    fields = {key: value for key, value in entry.items() if key in _FIELDS}
    fields["name"] = name_of(entry) or entry.get("name")
    if fields["name"] is None:
        message = f"a tool needs a name; it is one of: {KNOWN}"
        raise InvalidRequest(f"{path}.name is missing", (FieldError(path, message),))
    if not isinstance(fields.get("description"), str):
        fields["description"] = core_of(entry).get("description")
    try:
        if not _FOREIGN.isdisjoint(entry):
            if fields.get("kind") not in KINDS:
                fields.pop("kind", None)  # some providers have a key of this name, too
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
        return msgspec.convert(fields, Tool)
    except msgspec.ValidationError as error:
        wrong = wrong_field(path, error)
        raise InvalidRequest(f"{wrong.path}: {wrong.message}", (wrong,)) from None
    except (TypeError, ValueError, RecursionError) as error:
        message = f"cannot be written as JSON ({type(error).__name__})"
        raise InvalidRequest(f"{path}: {message}", (FieldError(path, message),)) from None
