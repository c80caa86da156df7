"""What providers refuse in a tool's name and input schema: one such tool is a 400 for them all.

The rules are those of the vendors' documentation and of the errors that users report. Nothing is
refused here that any of a vendor's models may take; keywords that they only ignore are no reason.
Servers that are compatible with an interface, such as vLLM, Ollama or OpenRouter, may take more.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from toolscout.contract.fields import is_absent
from toolscout.contract.tools import Tool
from toolscout.tools.schemas import MAX_POINTER, follow
from toolscout.tools.shapes import schema_of

MAX_SCHEMAS = 5_000
"""Schemas within one that are looked at; those of real tools have some hundred at most."""

SHOWN_CHARS = 60
"""Characters of a name or a value from a schema that a reason shows."""

MAX_KEYS = 3
"""Keys of one object that a reason shows."""

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_GEMINI_NAME = re.compile(r"[a-zA-Z0-9_.:-]+")
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_COMPOSED = ("oneOf", "anyOf", "allOf")
_OPENAI_ROOT = (*_COMPOSED, "enum", "const", "not")

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
"""The types of JSON Schema."""


class Rules(NamedTuple):
    """What one provider takes."""

    longest: int
    """Characters of a name."""
    name: re.Pattern[str] = _NAME
    is_begun_by_letter: bool = False
    """Whether a name has to begin with a letter or `_`."""
    root: tuple[str, ...] = _COMPOSED
    """Keywords that must not stand at the root of a schema."""
    is_protobuf: bool = False
    """Whether schemas are read as Protocol Buffers: `STRING` is a type too, and null is absence."""
    needs_items: bool = False
    """Whether an array has to say of what."""
    needs_properties: bool = False
    """Whether each required name has to be among the properties."""
    key: re.Pattern[str] | None = None
    """What the key of a property has to be; None where any is taken."""


RULES: Mapping[str, Rules] = {
    "openai": Rules(64, root=_OPENAI_ROOT, needs_items=True),
    "openai-responses": Rules(128, root=_OPENAI_ROOT, needs_items=True),
    "anthropic": Rules(128, key=_KEY),
    "bedrock": Rules(64, key=_KEY),
    "bedrock-anthropic": Rules(64, key=_KEY),
    "gemini": Rules(
        64,
        name=_GEMINI_NAME,
        is_begun_by_letter=True,
        root=(),
        is_protobuf=True,
        needs_items=True,
        needs_properties=True,
    ),
}
"""Of the vendor of each interface, by the names of `toolscout.turns.providers`."""

LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
SINGLE = (
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "not",
    "if",
    "then",
    "else",
)
"""Keywords whose values are schemas: lists of them, by names, and single ones."""

_BOUNDS = ("exclusiveMinimum", "exclusiveMaximum")

_READ_BY_ALL = ("properties", "anyOf", "items")
"""Keywords whose values every provider reads as schemas; anything else is a fault."""

_Path: TypeAlias = "tuple[_Path, tuple[str, object]] | None"


def list_refusals(provider: str, name: str, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return why a provider refuses a tool of this name and input schema; nothing if it takes it.

    An empty schema counts as no schema. The cost is bounded whatever the schema; what lies beyond
    the bound is taken to be right.

    Raises:
        KeyError: there is no such provider.
    """
    rules = RULES[provider]
    reasons = [*_check_name(rules, name), *_check_root(rules, schema)]
    return tuple(dict.fromkeys([*reasons, *_check_schemas(rules, schema)]))


def explain_refusals(name: str, schema: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return each reason for which some provider refuses a tool, with these providers."""
    providers: dict[str, list[str]] = {}
    for provider in RULES:
        for reason in list_refusals(provider, name, schema):
            providers.setdefault(reason, []).append(provider)
    return providers


def is_refused_by_all(reasons: Mapping[str, list[str]]) -> bool:
    """Return whether no provider takes a tool with these reasons of `explain_refusals`."""
    return {provider for named in reasons.values() for provider in named} == RULES.keys()


def write_reasons(reasons: Mapping[str, list[str]]) -> str:
    """Return reasons of `explain_refusals` in words, each with who refuses the tool for it."""
    return "; ".join(
        f"{reason} ({'all' if len(named) == len(RULES) else ', '.join(named)})"
        for reason, named in reasons.items()
    )


def find_sent_schema(tool: Tool) -> Mapping[str, Any]:
    """Return the input schema of a tool as it was sent, right or wrong; empty without one.

    Raises:
        msgspec.DecodeError: the raw definition or parameters are not valid JSON.
        RecursionError: they are nested too deeply to decode.
    """
    for raw in (tool.definition, tool.parameters):
        body = None if is_absent(raw) else msgspec.json.decode(raw)
        if isinstance(body, dict):
            is_bare = raw is tool.parameters or isinstance(body.get("properties"), dict)
            if schema := schema_of(body) or (body if is_bare else {}):
                return schema
    return {}


def can_take_name(provider: str, name: str) -> bool:
    """Return whether a provider takes this name of a tool."""
    return not any(_check_name(RULES[provider], name))


def can_take_key(provider: str, key: str) -> bool:
    """Return whether a provider takes this key of a property."""
    pattern = RULES[provider].key
    return pattern is None or pattern.fullmatch(key) is not None


def _check_name(rules: Rules, name: str) -> Iterator[str]:
    if len(name) > rules.longest:
        yield f"its name has {len(name):,} characters, {rules.longest} are taken"
    if not rules.name.fullmatch(name):
        yield "its name has other characters than letters, digits, _ and -"
    if rules.is_begun_by_letter and not (name[:1].isalpha() or name[:1] == "_"):
        yield "its name begins neither with a letter nor with _"


def _check_root(rules: Rules, schema: Mapping[str, Any]) -> Iterator[str]:
    for keyword in rules.root:
        if keyword in schema:
            yield f"its schema has {keyword} at the root"
    kind = schema.get("type", "object")  # a missing one is filled in by many hosts and SDKs
    if _lower(kind, rules.is_protobuf) != "object":
        yield f"its schema is of type {_show_name(kind)}, no object"


def _check_schemas(rules: Rules, schema: Mapping[str, Any]) -> Iterator[str]:
    resolved: dict[tuple[int, str], bool] = {}
    for path, node, base in _walk_schemas(schema):
        if not isinstance(node, Mapping):
            yield f"{_place(path)} is {_show_name(node)}, no schema"
            continue
        for reason in (*_check_types(rules, node), *_check_properties(rules, node)):
            yield f"{_place(path)} {reason}"
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            key = id(base), reference
            if key not in resolved:
                resolved[key] = any(_has_target(one, reference) for one in (base, schema))
            if not resolved[key]:
                yield f"{_place(path)} refers to {_show_name(reference)}, which there is not"


def _check_types(rules: Rules, node: Mapping[str, Any]) -> Iterator[str]:
    declared = node.get("type", "object")
    several = declared if isinstance(declared, list | tuple) else [declared]
    kinds = [_lower(kind, rules.is_protobuf) for kind in several]
    for kind, lower in zip(several, kinds, strict=True):
        if not (isinstance(lower, str) and lower in TYPES):
            yield f"is of type {_show_name(kind)}, which there is not"
    has_items = node.get("items") is not None or "prefixItems" in node
    if rules.needs_items and "array" in kinds and not has_items:
        yield "is an array without items"
    for bound in _BOUNDS:
        if isinstance(node.get(bound), bool):
            yield f"has a boolean {bound}: write the bound itself there, a number"


def _check_properties(rules: Rules, node: Mapping[str, Any]) -> Iterator[str]:
    absent = None if rules.is_protobuf else ()
    required = node.get("required", absent)
    properties = node.get("properties", absent)
    if not isinstance(required, list | tuple) and required is not absent:
        yield "has a `required` that is no list"
    if not isinstance(properties, Mapping) and properties is not absent:
        yield "has `properties` that are no object"
    listed = properties if isinstance(properties, Mapping) else {}
    ill = [key for key in listed if rules.key and not rules.key.fullmatch(key)]
    if ill:
        keys = ", ".join(map(_show_name, ill[:MAX_KEYS]))
        yield f"has keys to rename, to 64 letters, digits, _, . and - at most: {keys}"
    if rules.needs_properties and isinstance(required, list | tuple):
        missing = (one for one in required if isinstance(one, str) and one not in listed)
        if (first := next(missing, None)) is not None:
            yield f"requires {_show_name(first)}, which is no property of it"


def list_keys(schema: Mapping[str, Any]) -> set[str]:
    """Return the keys of properties at every level of a schema."""
    nodes = [
        node.get("properties") for _, node, _ in _walk_schemas(schema) if isinstance(node, Mapping)
    ]
    return {key for properties in nodes if isinstance(properties, Mapping) for key in properties}


def _walk_schemas(schema: Mapping[str, Any]) -> Iterator[tuple[_Path, Any, Mapping[str, Any]]]:
    """Yield a schema and those within it, up to `MAX_SCHEMAS`.

    Each comes with its path and the schema to which its references are relative; what should be a
    schema and is none comes as it is.
    """
    queue: list[tuple[_Path, Any, Mapping[str, Any]]] = [(None, schema, schema)]
    for path, node, above in queue:  # which grows meanwhile
        if not isinstance(node, Mapping):
            keyword = path[1][0] if path else ""
            is_absent_here = node is None and keyword == "items"
            if keyword in _READ_BY_ALL and not (isinstance(node, bool) or is_absent_here):
                yield path, node, above
            continue
        base = node if isinstance(node.get("$id"), str) else above
        yield path, node, base
        for key, value in node.items():
            inner: Iterator[tuple[tuple[str, object], Any]] = iter(())
            if key in MAPS and isinstance(value, Mapping):
                inner = (((key, name), one) for name, one in value.items())
            elif key in LISTS and isinstance(value, list | tuple):
                inner = (((key, place), one) for place, one in enumerate(value))
            elif key in SINGLE:
                inner = iter([((key, None), value)])
            for step, one in inner:
                if len(queue) >= MAX_SCHEMAS:
                    break
                queue.append(((path, step), one, base))


def _has_target(schema: Mapping[str, Any], reference: str) -> bool:
    """Return whether a reference has a target; an anchor or a very long one is taken to."""
    is_judged = reference.startswith("#/") and reference.count("/") <= MAX_POINTER
    return not is_judged or follow(schema, reference) is not None


def _lower(kind: Any, is_lenient: bool) -> Any:
    return kind.lower() if is_lenient and isinstance(kind, str) else kind


def _place(path: _Path) -> str:
    """Return where a schema stands, as `properties.city`, its last steps where it is deep."""
    steps: list[str] = []
    while path is not None and len(steps) < MAX_POINTER:
        above, (key, name) = path
        steps.append(key if name is None else f"{key}.{_show_name(str(name))}")
        path = above
    text = ".".join(reversed(steps))
    return text[-2 * SHOWN_CHARS :] if text else "its schema"


def _show_name(value: object) -> str:
    """Return the beginning of a value, without anything that a terminal would take for orders."""
    text = value if isinstance(value, str) else f"a {type(value).__name__}"
    return "".join(one if one.isprintable() else "?" for one in text[:SHOWN_CHARS])
