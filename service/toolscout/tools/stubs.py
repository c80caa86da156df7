"""A tool as a typed signature, for models that write code: TypeScript or Python.

Types are what the JSON Schema of the input says, as far as either language can; deeper levels, and
what is no schema, are `unknown` and `Any`.
"""

import json
import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from toolscout.contract.fields import Stub
from toolscout.tools.schemas import follow
from toolscout.tools.summary import cut_first_sentence

DEPTH = 4
"""Levels of a schema that are typed."""

MAX_PROPERTIES = 64
"""Parameters of a tool, and fields of an object, that are typed."""

MAX_VALUES = 24
"""Values of an enumeration, or alternatives, that are typed; more are the type they have."""

MAX_PARTS = 512
"""Schemas of one tool that are typed; references may lead to each of them."""

_NO_IDENTIFIER = re.compile(r"\W", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


class Language(NamedTuple):
    """How a language writes types."""

    scalars: Mapping[str, str]
    anything: str
    array: Callable[[str], str]
    mapping: Callable[[str], str]
    literals: Callable[[Iterable[str]], str]
    literal: Callable[[Any], str]
    fields: Callable[[Iterable[tuple[str, str, bool]]], str] | None
    """Writes an object with known fields: name, type, whether it must be there."""


def _quote(text: str) -> str:
    return json.dumps(text)


def _write_field(name: str, kind: str, is_required: bool) -> str:
    shown = name if _IDENTIFIER.fullmatch(name) else _quote(name)
    return f"{shown}{'' if is_required else '?'}: {kind}"


def _write_object(fields: Iterable[tuple[str, str, bool]]) -> str:
    return "{ " + "; ".join(_write_field(*field) for field in fields) + " }"


def _write_array(kind: str) -> str:
    return f"({kind})[]" if "|" in kind and not kind.startswith("{") else f"{kind}[]"


TYPESCRIPT = Language(
    {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
    | {"null": "null"},
    "unknown",
    _write_array,
    lambda kind: f"Record<string, {kind}>",
    " | ".join,
    json.dumps,
    _write_object,
)
PYTHON = Language(
    {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"},
    "Any",
    lambda kind: f"list[{kind}]",
    lambda kind: f"dict[str, {kind}]",
    lambda values: f"Literal[{', '.join(values)}]",
    repr,
    None,
)


class _Types:
    """Writes the types of one schema in one language."""

    def __init__(self, root: Any, language: Language) -> None:
        self._root = root
        self._language = language
        self._left = MAX_PARTS

    def write(self, schema: Any, depth: int = DEPTH) -> str:
        """Return the type of a schema."""
        language = self._language
        self._left -= 1
        if not isinstance(schema, Mapping) or depth == 0 or self._left < 0:
            return language.anything
        if isinstance(reference := schema.get("$ref"), str):
            return self.write(follow(self._root, reference), depth - 1)
        values = schema.get("enum", [schema["const"]] if "const" in schema else None)
        if isinstance(values, list) and _is_literal(values):
            return language.literals(dict.fromkeys(map(language.literal, values)))
        for key in ("anyOf", "oneOf"):
            if isinstance(several := schema.get(key), list) and 0 < len(several) <= MAX_VALUES:
                return self._unite([self.write(one, depth - 1) for one in several])
        kinds = schema.get("type")
        if isinstance(kinds, list):
            some = kinds[:MAX_VALUES]
            return self._unite([self._write_kind(kind, schema, depth) for kind in some])
        return self._write_kind(kinds, schema, depth)

    def fields(self, schema: Any, depth: int = DEPTH) -> list[tuple[str, str, bool]]:
        """Return the properties of an object: name, type, whether it must be there."""
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        required = schema.get("required") if isinstance(schema, Mapping) else None
        needed = required if isinstance(required, list) else []
        if not isinstance(properties, Mapping):
            return []
        some = list(properties.items())[:MAX_PROPERTIES]
        typed = [(name, self.write(one, depth - 1), name in needed) for name, one in some]
        return sorted(typed, key=lambda field: not field[2])

    def _write_kind(self, kind: Any, schema: Mapping[str, Any], depth: int) -> str:
        language = self._language
        if isinstance(kind, str) and kind in language.scalars:
            return language.scalars[kind]
        if kind == "array":
            return language.array(self.write(schema.get("items"), depth - 1))
        if kind == "object" or (kind is None and "properties" in schema):
            fields = self.fields(schema, depth)
            if fields and language.fields is not None:
                return language.fields(fields)
            return language.mapping(self.write(schema.get("additionalProperties"), depth - 1))
        return language.anything

    def _unite(self, kinds: Iterable[str]) -> str:
        different = list(dict.fromkeys(kinds))
        if self._language.anything in different:
            return self._language.anything
        return " | ".join(different) or self._language.anything


def _is_literal(values: list[Any]) -> bool:
    """Whether the values of an enumeration are few, and such as a type can name."""
    are_simple = all(value is None or type(value) in (str, bool, int) for value in values)
    return 0 < len(values) <= MAX_VALUES and are_simple


def _is_python_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def write_stub(name: str, description: str, schema: Any, output: Any, stub: Stub) -> str:
    """Return the signature of a tool, with the first sentence of its description.

    Args:
        name: the tool's name; in a signature, what no identifier has is `_`.
        description: all that it says.
        schema: JSON Schema of its input; None without one.
        output: that of what it returns.
        stub: the language.
    """
    called = _NO_IDENTIFIER.sub("_", name)
    called = f"_{called}" if called[:1].isdigit() or keyword.iskeyword(called) else called
    sentence = cut_first_sentence(description)
    summary = "".join(letter if letter.isprintable() else " " for letter in sentence)
    return (_write_python if stub == "stub_python" else _write_typescript)(
        called, summary, schema, output
    )


def _write_typescript(name: str, summary: str, schema: Any, output: Any) -> str:
    fields = _Types(schema, TYPESCRIPT).fields(schema)
    optional = "" if any(is_required for *_, is_required in fields) else "?"
    arguments = f"input{optional}: {_write_object(fields)}" if fields else ""
    result = _Types(output, TYPESCRIPT).write(output)
    comment = f"/** {summary.replace('*/', '* /')} */\n" if summary else ""
    return f"{comment}declare function {name}({arguments}): Promise<{result}>;"


def _write_python(name: str, summary: str, schema: Any, output: Any) -> str:
    fields = _Types(schema, PYTHON).fields(schema)
    usual = [field for field in fields if _is_python_name(field[0])]
    others = [_quote(field[0]) for field in fields if field not in usual]
    parts = [f"{key}: {kind}" + ("" if is_needed else " = ...") for key, kind, is_needed in usual]
    parts = ["*", *parts] if parts else []
    comment = f"  # also {', '.join(others)}" if others else ""
    parts += ["**others: Any"] if others else []
    result = _Types(output, PYTHON).write(output)
    head = f"async def {name}({', '.join(parts)}) -> {result}: ...{comment}"
    return f"# {summary}\n{head}" if summary else head
