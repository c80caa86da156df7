"""What a signature says that a tool takes, by the form of its schema."""

from typing import Any

import msgspec
import pytest

from toolscout import Engine
from toolscout.contract.tools import Tool
from toolscout.index.details import count_cost
from toolscout.tools.stubs import name_function, write_stub
from toolscout.tools.summary import estimate_text_tokens

TEXT = {"type": "string"}
NULL = {"type": "null"}
PAIR: dict[str, Any] = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
INPUTS: list[tuple[str, Any, str, str]] = [
    ("no schema", None, "", ""),
    ("nothing", {"type": "object", "additionalProperties": False}, "", ""),
    ("anything", {}, "input: unknown", "**arguments: Any"),
    ("no schema at all", True, "input: unknown", "**arguments: Any"),
    (
        "reference",
        {"$ref": "#/$defs/pair", "$defs": {"pair": PAIR}},
        "input: { a: string }",
        "*, a: str",
    ),
    ("reference to nowhere", {"$ref": "other.json"}, "input: unknown", "**arguments: Any"),
    (
        "parts that are elsewhere",
        PAIR | {"allOf": [{"$ref": "other.json"}]},
        "input: { a: string; [key: string]: unknown }",
        "*, a: str, **others: Any",
    ),
    (
        "parts",
        {"allOf": [PAIR, {"properties": {"b": {"allOf": [TEXT, {"maxLength": 3}]}}}]},
        "input: { a: string; b?: string }",
        "*, a: str, b: str = ...",
    ),
    (
        "alternatives",
        {"anyOf": [PAIR, {"properties": {"b": TEXT}}]},
        "input: { a: string } | { b?: string }",
        "**arguments: Any",
    ),
    (
        "alternatives beside properties",
        {"properties": {"a": TEXT}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "input: { a?: string } & ({ a: unknown } | { b: unknown })",
        "*, a: str = ..., **others: Any",
    ),
    (
        "any names",
        {"additionalProperties": TEXT},
        "input?: { [key: string]: string }",
        "**others: str",
    ),
    (
        "any further names",
        PAIR | {"additionalProperties": {"type": "integer"}},
        "input: { a: string } & { [key: string]: number }",
        "*, a: str, **others: int",
    ),
    ("no type", {"properties": {"a": TEXT}}, "input?: { a?: string }", "*, a: str = ..."),
    (
        "a required name without a schema",
        {"type": "object", "required": ["a"]},
        "input: { a: unknown }",
        "*, a: Any",
    ),
    (
        "Gemini",
        {
            "type": "OBJECT",
            "properties": {
                "n": {"type": "INTEGER", "nullable": True},
                "l": {"type": "ARRAY", "items": {"type": "BOOLEAN"}},
            },
        },
        "input?: { n?: number | null; l?: boolean[] }",
        "*, n: int | None = ..., l: list[bool] = ...",
    ),
    (
        "a list of alternatives",
        {
            "properties": {
                "l": {"type": "array", "items": {"anyOf": [{"properties": {"a": {}}}, NULL]}}
            }
        },
        "input?: { l?: ({ a?: unknown } | null)[] }",
        "*, l: list[dict[str, Any] | None] = ...",
    ),
    (
        "names that Python has not",
        {"properties": {"class": TEXT, "others": TEXT, "ﬁ": TEXT}, "required": ["class"]},
        'input: { class: string; others?: string; "ﬁ"?: string }',
        "*, others: str = ..., **others_: Any",
    ),
    (
        "texts of other scripts",
        {"properties": {"a": {"enum": ["größe", "a\u2028b"]}}},
        'input?: { a?: "größe" | "a\\u2028b" }',
        "*, a: Literal['größe', 'a\\u2028b'] = ...",
    ),
]


@pytest.mark.parametrize(("schema", "typescript", "python"), [row[1:] for row in INPUTS])
def test_a_signature_takes_what_the_schema_takes(schema: Any, typescript: str, python: str):
    shown = write_stub("f", "", schema, None, "stub")
    assert shown == f"declare function f({typescript}): Promise<unknown>;"
    shown = write_stub("f", "", schema, None, "stub_python")
    assert shown.partition("  # ")[0] == f"async def f({python}) -> Any: ..."


@pytest.mark.parametrize(("title", "schema", "typescript"), [row[:3] for row in INPUTS])
def test_the_schema_of_a_tool_is_found_whatever_its_form(title: str, schema: Any, typescript: str):
    tool = {"name": "get_f", "description": title, "inputSchema": schema}
    if isinstance(schema, dict) and schema:
        (shown,) = Engine([tool]).search("get_f", detail="stub").tools
        assert f"get_f({typescript})" in str(shown.stub)


def test_what_is_cut_is_told_and_required_parameters_are_not_cut():
    names = [f"p{number}" for number in range(76)]
    schema = {"properties": dict.fromkeys(names, TEXT), "required": names[-1:]}
    typescript = write_stub("f", "", schema, None, "stub")
    assert "input: { p75: string; p0?: string; " in typescript
    assert "; /* and 12 more */ })" in typescript
    python = write_stub("f", "", schema, None, "stub_python")
    assert "(*, p75: str, p0: str = ..., " in python
    assert python.endswith("**others: Any) -> Any: ...  # and 12 more")


def test_a_parameter_that_is_no_identifier_has_its_type_in_a_comment():
    properties = {"per-page": {"type": "integer"}, "class": {"type": "boolean"}}
    schema = {"properties": properties, "required": ["per-page"]}
    python = write_stub("f", "", schema, None, "stub_python")
    assert python.endswith(
        '(**others: Any) -> Any: ...  # also "per-page": int (required), "class": bool'
    )


@pytest.mark.parametrize(
    ("name", "typescript", "python"),
    [("delete", "delete_", "delete"), ("class", "class_", "class_"), ("2fa", "_2fa", "_2fa")],
)
def test_a_reserved_word_is_no_name_of_a_function(name: str, typescript: str, python: str):
    assert name_function(name, "stub") == typescript
    assert name_function(name, "stub_python") == python


def test_a_schema_that_cannot_be_read_takes_anything():
    unreadable = Tool("f", parameters=msgspec.Raw(b'{"type": '))
    anything = write_stub("f", "", {}, None, "stub")
    assert count_cost(unreadable, "stub") == estimate_text_tokens(anything)
