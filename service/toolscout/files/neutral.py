"""One form for the schemas of OpenAPI 3.0, Swagger 2.0 and older drafts: JSON Schema 2020-12.

Providers refuse `nullable`, a boolean `exclusiveMinimum` or a type `file`; what only OpenAPI
knows (`xml`, `discriminator`, `x-…`) is left out.
"""

from collections.abc import Callable, Mapping
from typing import Any

from toolscout.tools import refused

MAPS = frozenset(refused.MAPS) - {"$defs", "definitions"}
LISTS = frozenset(refused.LISTS) - {"items"}
SINGLE = frozenset(refused.SINGLE) - {"additionalItems"}
"""Keywords with schemas by name, in lists and alone, without those that no schema here has."""

NESTING = MAPS | LISTS | SINGLE


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_TEXT = ("title", "description", "format", "pattern", "contentEncoding", "contentMediaType")
_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_FLAG = ("deprecated", "writeOnly", "uniqueItems")
_COUNTED = ("Length", "Items", "Contains", "Properties")
_IS_RIGHT: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_TEXT, lambda value: isinstance(value, str)),
    **dict.fromkeys(_NUMBER, _is_number),
    **{f"{end}{what}": _is_count for end in ("min", "max") for what in _COUNTED},
    **dict.fromkeys(_FLAG, lambda value: isinstance(value, bool)),
    **dict.fromkeys(("enum", "examples", "required"), lambda value: isinstance(value, list)),
    **dict.fromkeys(("type", "const", "default"), lambda value: True),
    "multipleOf": lambda value: _is_number(value) and value > 0,
}
"""For each keyword that holds no schema, whether a value is such as it may have."""

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
    made = {key: value for key, value in schema.items() if _is_taken(key, value)}
    _set_type(made)
    for exclusive, bound in _BOUNDS:
        if schema.get(exclusive) is True and bound in made:
            made[exclusive] = made.pop(bound)
    _set_items(made, schema)
    for name, needs in _read_map(schema.get("dependencies")).items():
        kind = "dependentRequired" if isinstance(needs, list) else "dependentSchemas"
        made[kind] = {**_read_map(made.get(kind)), name: needs}
    if "example" in schema and "examples" not in made:
        made["examples"] = [schema["example"]]
    if schema.get("nullable") is True or schema.get("x-nullable") is True:
        return _allow_null(made)
    return made


def _is_taken(key: str, value: Any) -> bool:
    """Whether a keyword is one of JSON Schema's, with a value such as it may have."""
    return key in NESTING or (key in _IS_RIGHT and _IS_RIGHT[key](value))


def _set_type(made: dict[str, Any]) -> None:
    """Set the types to those of JSON Schema."""
    kind = made.get("type")
    if kind == "file":
        made |= {"type": "string", "format": "binary"}
        return
    several = [_name_type(one) for one in as_list(kind)]
    known = list(dict.fromkeys(one for one in several if one in refused.TYPES))
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
