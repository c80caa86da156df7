"""What providers refuse in names and schemas, and that no schema makes the judgement costly."""

from collections.abc import Mapping
from typing import Any

import pytest

from toolscout.tools.refused import (
    MAX_SCHEMAS,
    RULES,
    explain_refusals,
    is_refused_by_all,
    list_refusals,
    write_reasons,
)
from toolscout.turns.providers import PROVIDERS

ALL = set(RULES)
ARRAYS = {"openai", "openai-responses", "gemini"}
CLAUDES = {"anthropic", "bedrock", "bedrock-anthropic"}
CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}


def of(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"one": schema}}


def providers(name: str, schema: Mapping[str, Any]) -> set[str]:
    return {provider for named in explain_refusals(name, schema).values() for provider in named}


def test_there_are_rules_for_every_provider():
    assert set(PROVIDERS) == ALL


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": {"city": {}}},
        CITY,
        CITY | {"additionalProperties": False, "required": ["city"], "title": "City"},
        of({"type": ["string", "null"]}),
        of({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        of({"enum": ["strng"], "default": {"type": "strng", "$ref": "#/nowhere"}}),
        of({"$ref": "#/$defs/a~1b/properties/x%2Dy"})
        | {"$defs": {"a/b": {"properties": {"x-y": {}}}}},
        of({"$ref": "#/properties/one/anyOf/0", "anyOf": [{}]}),
        of({"$ref": "#anchor"}),
        of({"$ref": "#"}),
        of(True),
        of({"type": "array", "items": {}}),
        of({"type": "array", "prefixItems": [{"type": "string"}]}),
        of({"$id": "https://e.example/x", "$defs": {"a": {}}, "items": {"$ref": "#/$defs/a"}}),
        of({"$id": "https://e.example/x", "$ref": "#/properties/one"}),
        {"type": "object", "properties": {"type": {"type": "string"}, "ref": {}, "required": {}}},
        of({"exclusiveMinimum": 0, "default": {"exclusiveMinimum": True, "a b": 1}}),
        of({"properties": {"x-api.key_1": {}, "k" * 64: {}}, "patternProperties": {"^a b": {}}}),
    ],
)
def test_a_right_schema_is_taken_by_all(schema: dict[str, Any]):
    assert explain_refusals("get_weather", schema) == {}


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("n" * 64, set()),
        ("n" * 65, {"openai", "bedrock", "bedrock-anthropic", "gemini"}),
        ("n" * 129, ALL),
        ("server.get", ALL - {"gemini"}),
        ("3d_print", {"gemini"}),
        ("GET /users/{id}", ALL),
        ("прочитать", ALL),
        ("get\n", ALL),
        ("", ALL),
    ],
)
def test_names_are_judged_by_length_and_characters(name: str, by: set[str]):
    assert providers(name, CITY) == by


@pytest.mark.parametrize(
    ("schema", "by", "says"),
    [
        (CITY | {"oneOf": [{}]}, ALL - {"gemini"}, "oneOf at the root"),
        (CITY | {"not": {}}, {"openai", "openai-responses"}, "not at the root"),
        ({"type": "string"}, ALL, "is of type string, no object"),
        ({"type": None}, ALL, "no object"),
        ({"type": "OBJECT"}, ALL - {"gemini"}, "type OBJECT"),
        (of({"type": "strng"}), ALL, "properties.one is of type strng"),
        (of({"type": {"a": 1}}), ALL, "of type a dict"),
        (of({"type": ["string", "any"]}), ALL, "of type any"),
        (of({"items": [{}, {"type": "str"}]}), ALL, "properties.one.items.1 is of type str"),
        (of({"$ref": "#/$defs/Gone"}), ALL, "refers to #/$defs/Gone"),
        (of({"$ref": "#/properties/one/9"}), ALL, "refers to"),
        ({"$defs": {"a": {"anyOf": [{"type": "int"}]}}}, ALL, "$defs.a.anyOf.0 is of type int"),
        ({"properties": {"uids[]": {}, "top": {}}}, CLAUDES, "its schema has keys to rename"),
        (of({"items": {"properties": {"$filter": {}}}}), CLAUDES, "items has keys to rename"),
        (of({"properties": {"$ref": {}}}), CLAUDES, "and - at most: $ref"),
        (
            {"properties": {key: {} for key in ("a b", "k" * 65, "é", "ü")}},
            CLAUDES,
            "at most: a b, kkk",
        ),
        (of({"exclusiveMinimum": True}), ALL, "properties.one has a boolean exclusiveMinimum"),
        (of({"exclusiveMaximum": False}), ALL, "the bound itself there, a number"),
        (of({"type": "array"}), ARRAYS, "properties.one is an array without items"),
        (of({"type": ["array", "null"]}), ARRAYS, "an array without items"),
        (of({"type": "ARRAY"}), ALL, "an array without items"),
        (of({"type": "string", "required": True}), ALL, "properties.one has a `required` that is"),
        (
            CITY | {"required": None},
            ALL - {"gemini"},
            "its schema has a `required` that is no list",
        ),
        ({"type": "object", "properties": ["a"]}, ALL, "has `properties` that are no object"),
        (of("string"), ALL, "properties.one is string, no schema"),
        (of(None), ALL, "properties.one is a NoneType, no schema"),
        (of({"items": "string"}), ALL, "properties.one.items is string, no schema"),
        (of({"anyOf": [{}, "null"]}), ALL, "properties.one.anyOf.1 is null, no schema"),
        (of({"$id": "a", "items": {"$ref": "#/$defs/none"}}), ALL, "refers to #/$defs/none"),
        (of({"type": "object", "required": ["gone"]}), {"gemini"}, "requires gone"),
        (CITY | {"required": ["city", "gone"]}, {"gemini"}, "requires gone"),
    ],
)
def test_schemas_are_judged_at_every_level(schema: dict[str, Any], by: set[str], says: str):
    assert providers("get_weather", schema) == by
    assert says in write_reasons(explain_refusals("get_weather", schema))


def test_a_line_says_who_refuses_what():
    reasons = explain_refusals("n" * 65, of({"type": "strng"}))
    assert write_reasons(reasons) == (
        "its name has 65 characters, 64 are taken (openai, bedrock, bedrock-anthropic, gemini); "
        "properties.one is of type strng, which there is not (all)"
    )
    assert is_refused_by_all(reasons)
    assert not is_refused_by_all(explain_refusals("n" * 65, CITY))


def test_a_reason_is_short_and_has_no_orders_for_a_terminal():
    schema = of({"properties": {"\x1b[31m" * 1_000: {"type": "\x07" * 9_000}}})
    line = write_reasons(explain_refusals("get_weather", schema))
    assert line.isprintable()
    assert len(line) < 400


class Counted(dict[str, Any]):
    """A schema that counts how often its children are looked at."""

    seen = 0

    def items(self) -> Any:
        Counted.seen += 1
        return super().items()


def test_no_more_schemas_are_looked_at_than_the_bound():
    Counted.seen = 0
    wide = of({"anyOf": [Counted(type="string") for _ in range(3 * MAX_SCHEMAS)]})
    assert list_refusals("openai", "get_weather", wide) == ()
    assert 0 < Counted.seen <= MAX_SCHEMAS


def test_depth_circles_and_long_pointers_are_no_errors():
    deep: dict[str, Any] = {"type": "strng"}
    for _ in range(2_000):
        deep = {"items": deep}
    assert "which there is not" in list_refusals("openai", "get_weather", deep)[0]
    circle: dict[str, Any] = {"type": "object"}
    circle["properties"] = {"again": circle}
    assert list_refusals("openai", "get_weather", circle) == ()
    for pointer in ("#/" + "a/" * 100_000, "#/" + "9" * 100_000, "#/%zz", "#/$defs/" + "0" * 9):
        schema = of({"$ref": pointer}) | {"$defs": [1, 2]}
        assert len(list_refusals("openai", "get_weather", schema)) <= 1
