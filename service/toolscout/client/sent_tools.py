"""An offered tool as the service reads it when it is posted as it is, whatever its shape."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from toolscout.contract.fields import ABSENT
from toolscout.contract.tools import Tool
from toolscout.errors import NOT_JSON, InvalidRequest
from toolscout.tools.conversion import read_entry
from toolscout.tools.shapes import core_of, text_of

PATH = "tools[0]"
"""Where errors of the conversion say that a tool stands."""

FILTERED_FIELDS = ("namespace", "domain", "tags", "source", "capabilities", "risk", "status")
"""Fields that filters and rights go by; they say nothing of a definition."""

IN_PLACE_OF_WRONG: Mapping[str, Any] = {
    "description": "",
    "risk": "destructive",
    "status": "unavailable",
    "annotations": {"destructiveHint": True},
}
"""Replacements of values that are not understood. Other fields are left out."""

MAX_NESTING = 8
"""Levels of a schema that a minimal definition follows."""

UNWRITABLE = (*NOT_JSON, InvalidRequest, UnicodeEncodeError)
"""What converting a tool raises for which JSON has no form, as one that contains itself."""


def _as_json(value: Any) -> Any:
    """Objects inside a definition that JSON has no form for."""
    return dict(value) if isinstance(value, Mapping) else str(value)


_encode = msgspec.json.Encoder(enc_hook=_as_json).encode


def read_offered(name: str, fields: Mapping[str, Any]) -> Tool:
    """Convert an offered tool as the service would; its definition is the whole tool.

    A field that the service would refuse is left out, as it would refuse the whole list for it; one
    that restricts counts as the strictest.
    """
    with suppress(*UNWRITABLE):
        tool, read = _convert(fields)
        if tool.definition is not ABSENT:
            return tool
        whole = msgspec.Raw(_encode(read))
        return msgspec.structs.replace(tool, definition=whole, parameters=ABSENT)
    bare = {field: fields[field] for field in FILTERED_FIELDS if field in fields}
    with suppress(*UNWRITABLE):
        description = text_of(core_of(fields).get("description"))
        tool, _ = _convert({**bare, "name": name, "description": description})
        _encode(tool)
        return tool
    return _convert({**bare, "name": name})[0]


def _convert(fields: Mapping[str, Any]) -> tuple[Tool, Mapping[str, Any]]:
    """Return the tool, and what of the fields could be read.

    Raises:
        InvalidRequest: nothing of it can be.
    """
    left = fields
    for _ in Tool.__struct_fields__:
        try:
            return read_entry(left, PATH)[0][0], left
        except InvalidRequest as error:
            left = _drop_wrong_field(left, error)
    return read_entry(left, PATH)[0][0], left


def _drop_wrong_field(fields: Mapping[str, Any], error: InvalidRequest) -> Mapping[str, Any]:
    path = error.errors[0].path if error.errors else PATH
    field = path.removeprefix(PATH).lstrip(".").partition("[")[0]
    if not field:  # something in it has no form in JSON
        as_json: dict[str, Any] = msgspec.json.decode(_encode(fields))
        return as_json
    return {**fields, field: IN_PLACE_OF_WRONG.get(field)}


def drop_definition(tool: Tool, *, keeps_parameters: bool) -> Tool:
    """Return a tool with what filters go by, and with nothing else of its definition.

    With `keeps_parameters` it also has names, types and descriptions of its parameters.
    """
    from toolscout.tools.documents import description_of, find_input_schema, hints_of

    definition = ABSENT
    hints: dict[str, bool] = {}
    try:
        told = hints_of(tool) or {}
        hints = {key: value for key, value in told.items() if isinstance(value, bool)}
        schema = find_input_schema(tool) if keeps_parameters else None
        if schema is not None:
            definition = msgspec.Raw(_encode({"parameters": _minimise(schema, 0)}))
    except NOT_JSON:
        pass  # nested too deeply: what it says cannot be read here either
    kept = {field: getattr(tool, field) for field in FILTERED_FIELDS}
    return Tool(
        name=tool.name,
        description=description_of(tool) or None,
        definition=definition,
        annotations=msgspec.Raw(_encode(hints)) if hints else ABSENT,
        **kept,
    )


def _minimise(node: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """Property names, types and descriptions; no examples, defaults, enumerations or notes."""
    kept: dict[str, Any] = {
        key: node[key] for key in ("type", "description") if isinstance(node.get(key), str)
    }
    if depth >= MAX_NESTING:
        return kept
    properties = node.get("properties")
    if isinstance(properties, Mapping):
        kept["properties"] = {
            name: _minimise(sub, depth + 1) if isinstance(sub, Mapping) else {}
            for name, sub in properties.items()
        }
    items = node.get("items")
    if isinstance(items, Mapping):
        kept["items"] = _minimise(items, depth + 1)
    return kept
