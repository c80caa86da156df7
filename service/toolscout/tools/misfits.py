"""What is wrong with the arguments of a call, by the schema of its tool, said in one sentence.

    find_misfit(schema, {"path": 7})   → "`path` has to be a string, got 7"

Judged are missing and unknown fields, types and enums, at any depth. Whatever else a schema says,
and what cannot be read of it, is left to the tool: a call is never held up by what is not certain.
"""

import operator
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any

import msgspec

from toolscout.tools.schemas import follow

MAX_REPORTED_FAULTS = 3
"""Faults that are named; a model mends more after it has read the schema."""

MAX_STEPS = 2_000
"""Places of a schema that are read for one call."""

MAX_ITEMS = 100
"""Of a list, those that are looked at."""

MAX_OPTIONS = 20
"""Values of an enum that are repeated."""

MAX_SHOWN = 60
"""Characters of a value that are repeated."""

MIN_SIMILARITY = 0.7
"""Likeness of two names, of 0 to 1, from which one may be meant by the other."""

KINDS: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def find_misfit(schema: Mapping[str, Any], arguments: Any) -> str:
    """Return what is wrong with arguments; empty where nothing certainly is."""
    try:
        return "; ".join(
            islice(_Reading(schema).find_faults(schema, arguments), MAX_REPORTED_FAULTS)
        )
    except Exception:  # a schema that nobody can read refuses nothing
        return ""


def fill_missing(schema: Mapping[str, Any], arguments: Any) -> Any:
    """Return arguments with each required field that is missing and has a default, or may be null.

    Strict schemas require every field, and give those a default that are optional or let them be
    null. A provider that decodes by the schema fills them in; a model that only reads it does not.
    """
    try:
        return _Reading(schema).fill_missing(schema, arguments)
    except Exception:  # a schema that nobody can read fills nothing in
        return arguments


class _Reading:
    """Reads a schema beside a value, so far as its steps last: schemas may refer to themselves."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._steps = MAX_STEPS

    def find_faults(self, schema: Any, value: Any, path: str = "") -> Iterator[str]:
        """Yield what is wrong with a value at a path."""
        self._count_step()
        schema = self._resolve(schema)
        if not isinstance(schema, Mapping):
            return
        for part in schema.get("allOf") or ():
            yield from self.find_faults(part, value, path)
        for key in ("anyOf", "oneOf"):
            options = schema.get(key) or ()
            faults_of_options = [next(self.find_faults(one, value, path), "") for one in options]
            if faults_of_options and all(faults_of_options):
                several = f"{_write_path(path)} fits none of its {len(faults_of_options)} forms"
                yield faults_of_options[0] if len(faults_of_options) == 1 else several
        kinds = _list_kinds(schema)
        options = schema.get("enum")
        if value is None and "null" in kinds:
            return
        if kinds and not any(_is_of(value, kind) for kind in kinds):
            yield f"{_write_path(path)} has to be {_join_kinds(kinds)}, got {_show_value(value)}"
        elif isinstance(options, list) and value not in options:
            listed = ", ".join(map(_show_value, options[:MAX_OPTIONS]))
            yield f"{_write_path(path)} has to be one of {listed}, got {_show_value(value)}"
        elif isinstance(value, dict):
            yield from self._find_field_faults(schema, value, f"{path}." if path else "")
        elif isinstance(value, list):
            for place, item in enumerate(value[:MAX_ITEMS]):
                yield from self.find_faults(schema.get("items"), item, f"{path}[{place}]")

    def _find_field_faults(
        self, schema: Mapping[str, Any], value: dict[str, Any], inner: str
    ) -> Iterator[str]:
        properties = schema.get("properties")
        required = schema.get("required")
        declared = properties if isinstance(properties, Mapping) else {}
        needed = required if isinstance(required, list) else []
        missing = [name for name in needed if name not in value]
        for name in missing:
            yield f"`{inner}{name}` is missing"
        is_closed = schema.get("additionalProperties") is False
        is_closed = is_closed and "patternProperties" not in schema
        # Where more fields are allowed, one is a slip only if it stands for another.
        unknown = (name for name in value if name not in declared) if is_closed or missing else ()
        left = [name for name in declared if name not in value]
        for name in islice(unknown, MAX_REPORTED_FAULTS):
            near = get_close_matches(name, left, 1, MIN_SIMILARITY) or missing[: len(missing) == 1]
            if is_closed or near:
                meant = f": did you mean `{near[0]}`?" if near else ""
                yield f"`{inner}{name}` is unknown{meant}"
        for name, inner_value in value.items():
            if name in declared:
                yield from self.find_faults(declared[name], inner_value, f"{inner}{name}")

    def fill_missing(self, schema: Any, value: Any) -> Any:
        """Return a value with the fields that it lacks; the value itself if it lacks none."""
        self._count_step()
        schema = self._resolve(schema)
        if not isinstance(schema, Mapping):
            return value
        if isinstance(value, list):
            items = [self.fill_missing(schema.get("items"), item) for item in value[:MAX_ITEMS]]
            is_same = all(map(operator.is_, items, value))
            return value if is_same else [*items, *value[MAX_ITEMS:]]
        properties = schema.get("properties")
        if not isinstance(value, Mapping) or not isinstance(properties, Mapping):
            return value
        filled = {
            name: self.fill_missing(properties.get(name), inner) for name, inner in value.items()
        }
        required = schema.get("required")
        for name in required if isinstance(required, list) else ():
            if name in filled:
                continue
            field = self._resolve(properties.get(name))
            if isinstance(field, Mapping) and "default" in field:
                filled[name] = field["default"]
            elif self._has_null(field):
                filled[name] = None
        is_same = len(filled) == len(value) and all(filled[name] is value[name] for name in value)
        return value if is_same else filled

    def _has_null(self, schema: Any) -> bool:
        """Whether a schema names null among what is allowed."""
        self._count_step()
        schema = self._resolve(schema)
        if not isinstance(schema, Mapping):
            return False
        options = schema.get("enum")
        if isinstance(options, list):
            return None in options
        if "null" in _list_kinds(schema):
            return True
        forms = [form for key in ("anyOf", "oneOf") for form in schema.get(key) or ()]
        return any(map(self._has_null, forms))

    def _count_step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise ValueError("the schema takes too long to read")

    def _resolve(self, schema: Any) -> Any:
        """Follow references within the schema; None for one to elsewhere."""
        while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
            self._steps -= 1
            schema = follow(self._root, reference) if self._steps > 0 else None
        return schema


def _list_kinds(schema: Mapping[str, Any]) -> Sequence[str]:
    """Return the types that are allowed; none where that is not certain."""
    declared = schema.get("type")
    kinds = [str(kind).lower() for kind in (declared if isinstance(declared, list) else [declared])]
    if not all(kind in KINDS for kind in kinds):
        return ()
    return [*kinds, "null"] if schema.get("nullable") is True else kinds


def _is_of(value: Any, kind: str) -> bool:
    """Whether a value is of a kind, or a text that many tools read as one: `"5"` for 5."""
    if isinstance(value, str) and kind not in ("string", "null"):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return False
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, KINDS[kind])


def _join_kinds(kinds: Sequence[str]) -> str:
    return " or ".join(f"an {kind}" if kind[0] in "aio" else f"a {kind}" for kind in kinds)


def _write_path(path: str) -> str:
    return f"`{path}`" if path else "the value"


def _show_value(value: Any) -> str:
    """Return a value as JSON, cut to what identifies it."""
    written = msgspec.json.encode(value).decode()
    return written if len(written) <= MAX_SHOWN else f"{written[:MAX_SHOWN]}…"
