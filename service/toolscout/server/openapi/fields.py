"""What every field means, and schemas that generators of clients understand."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

Schema = dict[str, Any]

FIRST = ("pattern", "query", "messages", "patterns", "tools", "catalog", "top_k", "max_tools")
"""Fields that stand before all others: what most requests have."""


@cache
def meanings() -> Mapping[str, str]:
    """Return what fields mean, by name, or by shape and name (`Tool.status`) where that differs."""
    return tomllib.loads(files(__package__).joinpath("fields.toml").read_text("utf-8"))


def finished(name: str, schema: Schema) -> Schema:
    """Return the schema of a shape with a description of every field.

    It has no defaults: generators take a field with one for a field that is always there.
    """
    properties = schema.get("properties")
    if properties is None:
        return schema
    known = meanings()
    order = sorted(properties, key=lambda field: FIRST.index(field) if field in FIRST else 99)
    described = {
        field: {
            **_opened(properties[field]),
            "description": known.get(f"{name}.{field}") or known[field],
        }
        for field in order
    }
    return {**schema, "properties": described}


def _opened(schema: Schema) -> Schema:
    """Let objects without known fields have any, which generators otherwise take for empty."""
    opened = {key: value for key, value in schema.items() if key != "default"}
    if opened.get("type") == "object" and not {"properties", "additionalProperties"} & set(opened):
        opened["additionalProperties"] = True
    for key in ("anyOf", "allOf", "oneOf"):
        if key in opened:
            opened[key] = [_opened(part) for part in opened[key]]
    for key in ("items", "additionalProperties"):
        if isinstance(opened.get(key), dict):
            opened[key] = _opened(opened[key])
    return opened
