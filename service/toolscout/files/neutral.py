"""One form for the schemas of OpenAPI 3.0, Swagger 2.0 and older drafts: JSON Schema 2020-12.

Providers refuse `nullable`, a boolean `exclusiveMinimum` or a type `file`; what only OpenAPI
knows (`xml`, `discriminator`, `x-…`) is left out.
"""

from collections.abc import Mapping
from typing import Any

from toolscout.tools.refused import TYPES

MAPS = frozenset(("properties", "patternProperties", "dependentSchemas"))
"""Keywords with schemas by name."""

LISTS = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
"""Keywords with lists of schemas."""

SINGLE = frozenset(
    [
        "items",
        "additionalProperties",
        "contains",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
        "not",
        "if",
        "then",
        "else",
    ]
)
"""Keywords with one schema."""

NESTING = MAPS | LISTS | SINGLE

_PLAIN = frozenset(
    [
        "type",
        "enum",
        "const",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "writeOnly",
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "contentEncoding",
        "contentMediaType",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minContains",
        "maxContains",
        "minProperties",
        "maxProperties",
        "required",
        "dependentRequired",
    ]
)
_KEYWORDS = NESTING | _PLAIN

_MEANT = {
    written: meant
    for meant, forms in {
        "integer": "int int32 int64 long",
        "number": "float double decimal",
        "boolean": "bool",
        "string": "date datetime date-time uuid text str uri",
        "object": "dict map",
        "array": "list",
    }.items()
    for written in forms.split()
}
"""Types that there are not, and what their authors mean."""

_ABOUT = ("title", "description", "default")

_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def neutralise(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in this form; those within it are as they were."""
    made = {key: value for key, value in schema.items() if key in _KEYWORDS}
    _set_type(made)
    for exclusive, bound in _BOUNDS:
        if isinstance(made.get(exclusive), bool):
            is_exclusive = made.pop(exclusive)
            if is_exclusive and bound in made:
                made[exclusive] = made.pop(bound)
    _set_items(made, schema)
    for name, needs in _read_map(schema.get("dependencies")).items():
        kind = "dependentRequired" if isinstance(needs, list) else "dependentSchemas"
        made[kind] = {**_read_map(made.get(kind)), name: needs}
    if "example" in schema and "examples" not in made:
        made["examples"] = [schema["example"]]
    for key in ("examples", "enum", "required"):
        if not isinstance(made.get(key), list):
            made.pop(key, None)
    if schema.get("nullable") is True or schema.get("x-nullable") is True:
        return _allow_null(made)
    return made


def _set_type(made: dict[str, Any]) -> None:
    """Set the types to those of JSON Schema."""
    kind = made.get("type")
    if kind == "file":
        made |= {"type": "string", "format": "binary"}
        return
    several = [_name_type(one) for one in as_list(kind)]
    known = list(dict.fromkeys(one for one in several if one in TYPES))
    if known:
        made["type"] = known if len(known) > 1 else known[0]
    else:
        made.pop("type", None)


def _name_type(kind: Any) -> str:
    lower = kind.lower() if isinstance(kind, str) else ""
    return _MEANT.get(lower, lower)


def _set_items(made: dict[str, Any], schema: Mapping[str, Any]) -> None:
    """Write a tuple as `prefixItems`, and say that an array without items takes any."""
    items = made.get("items")
    if isinstance(items, list):
        made["prefixItems"] = items
        made["items"] = schema.get("additionalItems", {})
    if "array" in as_list(made.get("type")):
        made.setdefault("items", {})


def _allow_null(made: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that also takes null."""
    kind = made.get("type")
    if isinstance(kind, str | list):
        made["type"] = list(dict.fromkeys([*as_list(kind), "null"]))
        if "enum" in made and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
        return made
    for key in ("anyOf", "oneOf"):
        if isinstance(made.get(key), list):
            made[key] = [*made[key], {"type": "null"}]
            return made
    about: dict[str, Any] = {key: made.pop(key) for key in _ABOUT if key in made}
    return {**about, "anyOf": [made, {"type": "null"}]} if made else about


def as_list(kind: Any) -> list[Any]:
    """Return the types of a schema as a list."""
    return kind if isinstance(kind, list) else [kind]


def _read_map(value: Any) -> dict[str, Any]:
    return {**value} if isinstance(value, Mapping) else {}
