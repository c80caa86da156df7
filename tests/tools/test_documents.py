"""What a tool says about itself, read from any provider's shape."""

import msgspec
import pytest

from tests.catalogs import SHAPES, in_shape
from toolscout.contract.tools import Tool
from toolscout.tools.documents import Document, read_tool

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Town name"},
        "days": {"items": {"properties": {"hour": {"description": "of the day"}}}},
    },
}


def read(**fields: object) -> Document:
    return read_tool(msgspec.json.decode(msgspec.json.encode(fields), type=Tool))


@pytest.mark.parametrize("key", ["definition", "parameters"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_says_the_same(shape: str, key: str):
    document = read(name="t", **{key: in_shape(shape, "forecast", "Rain or shine", SCHEMA)})
    assert document.name == "t"
    assert document.properties == "city Town name days hour of the day"
    if shape != "bare_schema":
        assert document.aliases == ("forecast",)
        assert document.description == "Rain or shine"


def test_the_tools_own_description_wins():
    definition = in_shape("anthropic", "t", "Inner", SCHEMA)
    assert read(name="t", description="Outer", definition=definition).description == "Outer"


def test_the_tools_own_name_is_no_alias():
    assert read(name="t", definition=in_shape("mcp", "t", None, SCHEMA)).aliases == ()


def test_a_json_description_is_read_as_a_definition():
    text = msgspec.json.encode(in_shape("openai_chat", "inner", "Rain", SCHEMA)).decode()
    document = read(name="t", description=text)
    assert document.description == "Rain"
    assert document.aliases == ("inner",)
    assert "Town name" in document.properties


def test_text_that_only_begins_like_json_stays_text():
    assert read(name="t", description="{city} forecast").description == "{city} forecast"


def test_properties_come_in_document_order_and_once():
    schema = {"properties": {"b": {}, "a": {}, "c": {"properties": {"a": {}, "d": {}}}}}
    assert read(name="t", parameters=schema).properties == "b a c d"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda s: {"anyOf": [s]},
        lambda s: {"oneOf": [s]},
        lambda s: {"allOf": [s]},
        lambda s: {"items": s},
        lambda s: {"prefixItems": [s]},
        lambda s: {"additionalProperties": s},
        lambda s: {"$defs": {"x": s}},
        lambda s: {"definitions": {"x": s}},
        lambda s: {"patternProperties": {"^x": s}},
        lambda s: {"if": s},
        lambda s: {"properties": {"outer": {"items": {"anyOf": [s]}}}},
    ],
)
def test_properties_are_found_wherever_schemas_nest(wrap):
    assert "inner" in read(name="t", parameters=wrap({"properties": {"inner": {}}})).properties


def test_keywords_and_tags_are_text():
    document = read(name="t", keywords=["rain"], tags=["sky"])
    assert {"rain", "sky"} <= set(f"{document.description} {document.properties}".split())


def test_long_texts_are_cut():
    document = read(name="t", description="x" * 1_000_000, keywords=["y" * 1_000_000])
    assert len(document.description) < 100_000
    assert len(document.properties) < 100_000


@pytest.mark.parametrize(
    "definition",
    [
        {"properties": None},
        {"properties": {"a": 5}},
        {"items": [1, 2]},
        {"anyOf": {}},
        {"function": []},
        {"name": 1, "description": []},
        {"parameters": {"properties": {"a": {"description": 7}}}},
    ],
)
def test_what_is_not_understood_is_passed_over(definition: dict):
    assert read(name="t", definition=definition).name == "t"
