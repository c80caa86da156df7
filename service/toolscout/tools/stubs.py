"""A tool as a typed signature, for models that write code: TypeScript or Python.

Types are what the JSON Schema of the input says, as far as either language can; deeper levels, and
what is no schema, are `unknown` and `Any`.
"""

import json
import keyword
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from toolscout.contract.fields import Stub
from toolscout.tools.naming import find_free
from toolscout.tools.schemas import WholeSchema, merge_parts
from toolscout.tools.summary import cut_first_sentence

DEPTH = 4
"""Levels of a schema that are typed."""

MAX_PROPERTIES = 64
"""Parameters of a tool, and fields of an object, that are typed."""

MAX_VALUES = 24
"""Values of an enumeration, or alternatives, that are typed; more are the type they have."""

MAX_PARTS = 512
"""Schemas of one tool that are typed; references may lead to each of them."""

_OF_OBJECTS = frozenset({"additionalProperties", "properties", "required"})
_NO_IDENTIFIER = re.compile(r"\W", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


class Members(NamedTuple):
    """What is known of an object."""

    fields: list[tuple[str, str, bool]]
    """Name, type, whether it must be there; those that must come first."""
    cut: int
    """Further ones that are not typed."""
    others: str | None
    """The type of those with any other name; None where there are none."""


class Language(NamedTuple):
    """How a language writes types."""

    scalars: Mapping[str, str]
    anything: str
    reserved: frozenset[str]
    """Words that are no name of a function."""
    array: Callable[[str], str]
    record: Callable[[Members], str]
    literals: Callable[[Iterable[str]], str]
    literal: Callable[[Any], str]
    intersect: Callable[[list[str]], str]


def _quote(value: Any) -> str:
    """Return a value as JSON; only text that does not show, as a line separator, is escaped."""
    is_shown = not isinstance(value, str) or value.isprintable()
    return json.dumps(value, ensure_ascii=not is_shown)


def _write_field(name: str, kind: str, is_required: bool) -> str:
    shown = name if _IDENTIFIER.fullmatch(name) else _quote(name)
    return f"{shown}{'' if is_required else '?'}: {kind}"


def _write_object(members: Members) -> str:
    if not members.fields:
        return f"Record<string, {members.others or 'unknown'}>"
    parts = [_write_field(*field) for field in members.fields]
    parts += [f"/* and {members.cut} more */"] if members.cut else []
    parts += ["[key: string]: unknown"] if members.others == "unknown" else []
    known = "{ " + "; ".join(parts) + " }"
    if members.others in (None, "unknown"):
        return known
    # Where fields have other types, an index signature beside them is an error.
    return f"{known} & {{ [key: string]: {members.others} }}"


def _write_dict(members: Members) -> str:
    return f"dict[str, {(not members.fields and members.others) or 'Any'}]"


def _group(kind: str) -> str:
    return f"({kind})" if "|" in kind or "&" in kind else kind


_SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
_RESERVED = """
    arguments await break case catch class const continue debugger default delete do else enum eval
    export extends false finally for function globalThis if implements import in instanceof
    interface let new null package private protected public return static super switch this throw
    true try typeof undefined var void while with yield
"""
TYPESCRIPT = Language(
    scalars=_SCALARS | {"null": "null"},
    anything="unknown",
    reserved=frozenset(_RESERVED.split()),
    array=lambda kind: f"{_group(kind)}[]",
    record=_write_object,
    literals=" | ".join,
    literal=_quote,
    intersect=lambda kinds: " & ".join(map(_group, kinds)) if len(kinds) > 1 else kinds[0],
)
PYTHON = Language(
    scalars={"string": "str", "integer": "int", "number": "float"}
    | {"boolean": "bool", "null": "None"},
    anything="Any",
    reserved=frozenset([*keyword.kwlist, "__debug__"]),
    array=lambda kind: f"list[{kind}]",
    record=_write_dict,
    literals=lambda values: f"Literal[{', '.join(values)}]",
    literal=repr,
    intersect=lambda kinds: kinds[0],
)


class _Types:
    """Writes the types of one schema in one language."""

    def __init__(self, root: Any, language: Language) -> None:
        self._language = language
        self._left = MAX_PARTS
        self._root = root

    def merge(self, schema: Any) -> WholeSchema:
        """Return a schema with the parts that it consists of."""
        whole = merge_parts(self._root, schema, self._left)
        self._left -= whole.cost - 1  # `write` has counted one
        return whole

    def write(self, schema: Any, depth: int = DEPTH) -> str:
        """Return the type of a schema."""
        self._left -= 1
        if not isinstance(schema, Mapping) or depth == 0 or self._left < 0:
            return self._language.anything
        return self.write_whole(self.merge(schema), depth)

    def write_whole(self, whole: WholeSchema, depth: int = DEPTH) -> str:
        """Return the type of a merged schema."""
        unions = self._list_unions(whole, depth)
        has_fields = bool(whole.properties or whole.required)
        kinds = unions if unions and not has_fields else [self._write_own(whole, depth), *unions]
        kind = self._language.intersect(kinds)
        if whole.keywords.get("nullable") is True:
            return self._unite([kind, self._language.scalars["null"]])
        return kind

    def list_members(self, whole: WholeSchema, depth: int = DEPTH) -> Members:
        """Return the fields of an object, those first that must be there."""
        names = dict.fromkeys([*whole.properties, *whole.required])
        ordered = sorted(names, key=lambda name: name not in whole.required)
        fields = [
            (name, self.write(whole.properties.get(name), depth - 1), name in whole.required)
            for name in ordered[:MAX_PROPERTIES]
        ]
        cut = max(len(ordered) - MAX_PROPERTIES, 0)
        return Members(fields, cut, self._write_others(whole, depth))

    def _write_others(self, whole: WholeSchema, depth: int) -> str | None:
        others = whole.keywords.get("additionalProperties")
        if others is True or not whole.is_known:
            return self._language.anything
        return self.write(others, depth - 1) if isinstance(others, Mapping) else None

    def _list_unions(self, whole: WholeSchema, depth: int) -> list[str]:
        """Return the types of which a schema has one each, without those that say nothing."""
        few = [several for several in whole.unions if 0 < len(several) <= MAX_VALUES]
        kinds = [self._unite([self.write(one, depth - 1) for one in several]) for several in few]
        return [kind for kind in kinds if kind != self._language.anything]

    def _write_own(self, whole: WholeSchema, depth: int) -> str:
        """Return the type of a schema without its alternatives."""
        language = self._language
        const = [whole.keywords["const"]] if "const" in whole.keywords else None
        values = whole.keywords.get("enum", const)
        if isinstance(values, list) and _is_literal(values):
            return language.literals(dict.fromkeys(map(language.literal, values)))
        kinds = _list_kinds(whole)[:MAX_VALUES]
        return self._unite([self._write_kind(kind, whole, depth) for kind in kinds])

    def _write_kind(self, kind: str, whole: WholeSchema, depth: int) -> str:
        language = self._language
        if kind in language.scalars:
            return language.scalars[kind]
        if kind == "array":
            return language.array(self.write(whole.keywords.get("items"), depth - 1))
        if kind == "object":
            return language.record(self.list_members(whole, depth))
        return language.anything

    def _unite(self, kinds: Iterable[str]) -> str:
        different = list(dict.fromkeys(kinds))
        null = self._language.scalars["null"]
        if self._language.anything in different:
            return self._language.anything
        if null in different and any(kind.endswith(f" | {null}") for kind in different):
            different.remove(null)
        return " | ".join(different) or self._language.anything


def _list_kinds(whole: WholeSchema) -> list[str]:
    """Return the types that a schema names, in lower case; Gemini has them in upper case."""
    kinds = whole.keywords.get("type")
    if kinds is None and not _OF_OBJECTS.isdisjoint(whole.keywords):
        return ["object"]
    return [str(kind).lower() for kind in (kinds if isinstance(kinds, list) else [kinds])]


def _is_literal(values: list[Any]) -> bool:
    """Whether the values of an enumeration are few, and such as a type can name."""
    are_simple = all(value is None or type(value) in (str, bool, int) for value in values)
    return 0 < len(values) <= MAX_VALUES and are_simple


def _is_python_name(name: str) -> bool:
    """Whether a name can be that of a parameter; Python reads a name in its normal form."""
    is_normal = unicodedata.normalize("NFKC", name) == name
    return name.isidentifier() and is_normal and name not in PYTHON.reserved


def name_functions(tools: Sequence[str], stub: Stub) -> list[str]:
    """Return what tools are called in signatures that are shown together.

    Each is another name, and none is that of another of these tools: a call by it would reach the
    wrong one.
    """
    taken = set(tools)
    numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(2))
    names = []
    for tool in tools:
        spelled = name_function(tool, stub)
        name = spelled if spelled == tool else find_free(spelled, taken, numbers[spelled])
        taken.add(name)
        names.append(name)
    return names


def name_function(tool: str, stub: Stub) -> str:
    """Return what a tool is called in a signature; what no identifier has is `_`."""
    name = _NO_IDENTIFIER.sub("_", tool)
    name = f"_{name}" if name[:1].isdigit() else name
    language = PYTHON if stub == "stub_python" else TYPESCRIPT
    return f"{name}_" if name in language.reserved else name


def write_stub(name: str, description: str, schema: Any, output: Any, stub: Stub) -> str:
    """Return the signature of a tool, with the first sentence of its description.

    Args:
        name: what the tool is called in it.
        description: all that it says.
        schema: JSON Schema of its input; None without one.
        output: that of what it returns.
        stub: the language.
    """
    sentence = cut_first_sentence(description)
    summary = "".join(letter if letter.isprintable() else " " for letter in sentence)
    write = _write_python if stub == "stub_python" else _write_typescript
    return write(name, summary, schema, output)


def _write_typescript(name: str, summary: str, schema: Any, output: Any) -> str:
    arguments = "" if schema is None else _write_input(schema)
    result = _Types(output, TYPESCRIPT).write(output)
    comment = f"/** {summary.replace('*/', '* /')} */\n" if summary else ""
    return f"{comment}declare function {name}({arguments}): Promise<{result}>;"


def _write_input(schema: Any) -> str:
    """Return the one parameter of a function in TypeScript; nothing if a tool takes nothing."""
    types = _Types(schema, TYPESCRIPT)
    whole = types.merge(schema)
    if "object" not in _list_kinds(whole) or whole.unions:
        return f"input: {types.write_whole(whole)}"
    members = types.list_members(whole)
    if members.fields:
        return f"input{'' if whole.required else '?'}: {_write_object(members)}"
    return f"input?: {{ [key: string]: {members.others} }}" if members.others else ""


def _write_python(name: str, summary: str, schema: Any, output: Any) -> str:
    parameters, comment = ("", "") if schema is None else _write_parameters(schema)
    result = _Types(output, PYTHON).write(output)
    head = f"async def {name}({parameters}) -> {result}: ...{comment}"
    return f"# {summary}\n{head}" if summary else head


def _write_parameters(schema: Any) -> tuple[str, str]:
    """Return the parameters of a function in Python, and what else there is to say of them."""
    types = _Types(schema, PYTHON)
    whole = types.merge(schema)
    fields, cut, others = types.list_members(whole)
    if "object" not in _list_kinds(whole) or (whole.unions and not fields):
        return "**arguments: Any", ""
    usual = [field for field in fields if _is_python_name(field[0])]
    unusual = [field for field in fields if not _is_python_name(field[0])]
    parts = [f"{key}: {kind}" + ("" if is_needed else " = ...") for key, kind, is_needed in usual]
    parts = ["*", *parts] if parts else []
    notes = [
        f"{_quote(key)}: {kind}" + (" (required)" if is_needed else "")
        for key, kind, is_needed in unusual
    ]
    notes[:1] = [f"also {note}" for note in notes[:1]]
    notes += [f"and {cut} more"] if cut else []
    if notes or whole.unions:
        others = "Any"
    if others is not None:
        names = {key for key, *_ in usual}
        parts.append(f"**{_find_free_name('others', names)}: {others}")
    return ", ".join(parts), f"  # {', '.join(notes)}" if notes else ""


def _find_free_name(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name
