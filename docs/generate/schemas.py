"""JSON schemas in words, without the sizes of lists, which the table of bounds has."""

from typing import Any

LARGE = 1_000_000_000
"""The bound of a number that is meant to have none."""


def kind_of(schema: dict[str, Any]) -> str:
    """Return what a value may be: `text`, `list of [Tool](#tool)`, `whole number, 1 to 32`."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        parts = [part for part in schema["anyOf"] if not part.get("x-skipped")]
        kinds = [kind_of(kind) for kind in parts if kind.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if isinstance(schema.get("type"), list):
        return " or ".join(
            _simple({**schema, "type": kind}) for kind in schema["type"] if kind != "null"
        )
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    return _simple(schema)


def fields_of(schema: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Name, type and whether it must be there, of each field of an object."""
    needed = schema.get("required", [])
    return [
        (name, kind_of(field), name in needed)
        for name, field in schema.get("properties", {}).items()
    ]


def _simple(schema: dict[str, Any]) -> str:
    kind = str(schema.get("type"))
    if kind == "array":
        return f"list of {kind_of(schema['items']) if schema.get('items') else 'anything'}"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"object of {kind_of(inner)}" if isinstance(inner, dict) and inner else "object"
    if kind == "string":
        form = "time" if schema.get("format") == "date-time" else "text"
        longest = schema.get("maxLength")
        return form + (f" of {longest:,} characters" if longest else "")
    words = {"integer": "whole number", "number": "number", "boolean": "boolean", "null": "null"}
    above = schema.get("exclusiveMinimum")
    parts = [words.get(kind, "anything"), f"above {above}" if above is not None else ""]
    parts.append(_bounds(schema.get("minimum"), schema.get("maximum")))
    return ", ".join(filter(None, parts))


def _bounds(low: float | None, high: float | None) -> str:
    high = None if high == LARGE else high
    if low is None:
        return "" if high is None else f"at most {high:,}"
    return f"at least {low:,}" if high is None else f"{low:,} to {high:,}"
