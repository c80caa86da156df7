"""Walk JSON Schemas: properties with what describes them, references, and parts of `allOf`."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

MAX_ENUM_VALUES = 32
"""Values of one property that are indexed; longer enumerations list countries or currencies."""

DEPTH = 3
"""Levels below a property from which its values and descriptions are read: `anyOf`, `items`, a
reference."""

MAX_NESTED = 2_000
"""Schemas below the properties of one tool that are read; references may lead to each of them."""

MAX_POINTER = 32
"""Steps of a reference that are followed."""

PROPERTIES_PER_SCHEMA = 64
"""Properties whose merging takes as long as reading a schema."""

UNIONS = ("anyOf", "oneOf")
"""Keywords of which one alternative is enough."""

_SUBSCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else")
_SUBSCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SUBSCHEMA_MAPS = ("$defs", "definitions", "patternProperties")
_BELOW = frozenset({*_SUBSCHEMAS, *_SUBSCHEMA_LISTS, *_SUBSCHEMA_MAPS})
_NESTING = _BELOW | {"properties"}
_DESCRIBING = frozenset({*_SUBSCHEMA_LISTS, "items", "additionalProperties", "$ref", "const"})
_LISTING = _DESCRIBING | {"enum"}
_CONDITIONAL = frozenset({"$dynamicRef", "dependentSchemas", "else", "patternProperties", "then"})


def walk_properties(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every property of a schema with what describes it, nested ones too, in document order."""
    stack: list[Any] = [schema]
    describing = _Describing(schema)
    while stack:
        node = stack.pop()
        if not isinstance(node, dict):
            continue
        children: list[Any] = []
        named = node.get("properties")
        if isinstance(named, dict):
            for name, sub in named.items():
                if isinstance(sub, dict):
                    yield name, describing.text(sub)
                    if not _NESTING.isdisjoint(sub):
                        children.append(sub)
                else:
                    yield name, ""
        for key, nested in () if _BELOW.isdisjoint(node) else node.items():
            if key in _SUBSCHEMA_LISTS and isinstance(nested, list):
                children.extend(nested)
            elif key in _SUBSCHEMA_MAPS and isinstance(nested, dict):
                children.extend(nested.values())
            elif key in _SUBSCHEMAS:
                children.append(nested)
        stack.extend(reversed(children))


class _Describing:
    """Reads what describes the properties of one schema, within a bound for all of them."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._left = MAX_NESTED

    def text(self, schema: dict[str, Any]) -> str:
        """Return the descriptions of a property, then its enumerated strings."""
        if _LISTING.isdisjoint(schema):  # as of most properties
            text = schema.get("description")
            return text if isinstance(text, str) else ""
        texts: list[str] = []
        values: list[str] = []
        self._read(schema, texts, values, DEPTH)
        return " ".join([*texts, *values[:MAX_ENUM_VALUES]])

    def _read(self, schema: Any, texts: list[str], values: list[str], depth: int) -> None:
        if not isinstance(schema, dict):
            return
        text = schema.get("description")
        several = schema.get("enum")
        if isinstance(text, str) and text not in texts:
            texts.append(text)
        if isinstance(several, list):
            values += (one for one in several[:MAX_ENUM_VALUES] if isinstance(one, str))
        if depth == 0 or _DESCRIBING.isdisjoint(schema):
            return
        if isinstance(schema.get("const"), str):
            values.append(schema["const"])
        for below in self._describe_below(schema):
            if self._left == 0 or len(values) > MAX_ENUM_VALUES:
                return
            self._left -= 1
            self._read(below, texts, values, depth - 1)

    def _describe_below(self, schema: dict[str, Any]) -> Iterator[Any]:
        for key in _SUBSCHEMA_LISTS:
            if isinstance(schema.get(key), list):
                yield from schema[key]
        items = schema.get("items")
        yield from items if isinstance(items, list) else [items]
        yield schema.get("additionalProperties")
        if isinstance(schema.get("$ref"), str):
            yield follow(self._root, schema["$ref"])


def follow(root: Any, reference: str) -> Any:
    """Return what a JSON pointer of `$ref` leads to within a schema; None if nowhere."""
    if not reference.startswith("#/"):
        return root if reference == "#" else None
    steps = reference[2:].split("/", MAX_POINTER)
    if len(steps) > MAX_POINTER:
        return None
    target = root
    for step in steps:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(target, Mapping):
            target = target.get(name)
        elif isinstance(target, list | tuple) and name.isdecimal() and int(name) < len(target):
            target = target[int(name)]
        else:
            return None
    return target


class WholeSchema(NamedTuple):
    """What a schema says together with the schemas that it refers to, and those of its `allOf`."""

    keywords: dict[str, Any]
    """The first value of each keyword."""
    properties: dict[str, Any]
    """Those of all parts; a property of several parts is an `allOf` of theirs."""
    required: dict[str, None]
    """Names, in order."""
    unions: list[list[Any]]
    """Every `anyOf` and `oneOf`."""
    is_known: bool
    """Whether this is all: references lead somewhere, nothing depends on a condition."""
    cost: int
    """Schemas that were read; `PROPERTIES_PER_SCHEMA` properties count as one more."""


def merge_parts(root: Any, schema: Any, most: int) -> WholeSchema:
    """Merge a schema with what its references lead to, and with the parts of its `allOf`.

    Args:
        root: the schema that references point into.
        schema: it, or one within it.
        most: the cost at which no further part is read.
    """
    whole = WholeSchema({}, {}, {}, [], True, 0)
    is_known = True
    cost = 0
    seen: set[int] = set()
    left = [schema]
    while left:
        part = left.pop()
        if part is True or id(part) in seen:
            continue
        if not isinstance(part, Mapping):
            is_known = False
            continue
        if seen and cost >= most:
            is_known = False
            break
        seen.add(id(part))
        is_known = _add_part(whole, part) and is_known
        cost += 1 + _count(part.get("properties")) // PROPERTIES_PER_SCHEMA
        several = part.get("allOf")
        left += reversed(several) if isinstance(several, list) else []
        if "$ref" in part:
            left.append(follow(root, str(part["$ref"])))
    return whole._replace(is_known=is_known, cost=cost)


def _count(value: Any) -> int:
    return len(value) if isinstance(value, Mapping) else 0


def _add_part(whole: WholeSchema, part: Mapping[str, Any]) -> bool:
    """Add what a schema says by itself; return whether that is all."""
    for key, value in part.items():
        whole.keywords.setdefault(key, value)
    properties = part.get("properties", {})
    if isinstance(properties, Mapping):
        for name, one in properties.items():
            known = whole.properties.get(name, one)
            whole.properties[name] = one if known is one else {"allOf": [known, one]}
    required = part.get("required")
    names = required if isinstance(required, list) else []
    whole.required.update((name, None) for name in names if isinstance(name, str))
    whole.unions.extend(part[key] for key in UNIONS if isinstance(part.get(key), list))
    return isinstance(properties, Mapping) and _CONDITIONAL.isdisjoint(part)
