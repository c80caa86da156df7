"""JSON Schemas of the structs that the MCP facade reads and answers with."""

from typing import Any

import msgspec

_REF = "#/$defs/{name}"
_NULL = {"type": "null"}


def schema_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a struct, with what it refers to in `$defs`."""
    _, found = msgspec.json.schema_components([struct], ref_template=_REF)
    for part in found.values():
        del part["title"], part["description"]  # a tool has its own
    schema: dict[str, Any] = found.pop(struct.__name__)
    return schema | ({"$defs": found} if found else {})


def answer_schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of answers, in which fields are absent but never null.

    Raw JSON, which has an empty schema, is never answered.
    """
    schema = schema_of(struct)
    for part in (schema, *schema.get("$defs", {}).values()):
        part["properties"] = {
            name: _without_null(field) for name, field in part["properties"].items() if field
        }
    return schema


def _without_null(field: dict[str, Any]) -> dict[str, Any]:
    options = [option for option in field.get("anyOf", ()) if option != _NULL]
    return options[0] if len(options) == 1 else field
