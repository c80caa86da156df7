"""The arguments of a scripted model's call, from the definition that its prompt shows."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from toolscout.tools.schemas import follow

SCHEMAS = ("input_schema", "parameters")
"""Keys under which definitions have their schemas."""

TEXT = "text"


def find_schema(prompt: Any, name: str) -> Any:
    """Return the schema of a tool that a prompt defines, as a tool or in a line of text."""
    defined = (one for one in _find_objects(prompt) if one.get("name") == name)
    schemas = (one[key] for one in defined for key in SCHEMAS if key in one)
    return next(schemas, None)


def fill(schema: Any, root: Any = None) -> Any:
    """Return a value that fits a schema, of an object the required fields alone.

    Args:
        schema: the whole schema, or a part of it.
        root: the whole one.
    """
    if not isinstance(schema, Mapping):
        return TEXT
    root = root or schema
    if "$ref" in schema:
        return fill(follow(root, schema["$ref"]), root)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema and "properties" not in schema:
            return fill(schema[key][0], root)
    return _fill_kind(schema, root)


def _fill_kind(schema: Mapping[str, Any], root: Any) -> Any:
    """Return a value of the type that a schema has, or of the first one."""
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object":
        fields = schema.get("properties", {})
        return {name: fill(fields.get(name), root) for name in schema.get("required", ())}
    if kind == "array":
        return [fill(schema.get("items"), root)] * max(1, schema.get("minItems", 1))
    if kind in ("integer", "number"):
        return max(1, schema.get("minimum", 1))
    if kind in ("boolean", "null"):
        return True if kind == "boolean" else None
    return TEXT.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]


def _find_objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all objects in a JSON-like value, with those that are lines of its texts."""
    if isinstance(value, str):
        for line in value.splitlines():
            if line.startswith("{"):
                with suppress(ValueError):
                    yield from _find_objects(json.loads(line))
    elif isinstance(value, Mapping):
        yield value
        for part in value.values():
            yield from _find_objects(part)
    elif isinstance(value, list):
        for part in value:
            yield from _find_objects(part)
