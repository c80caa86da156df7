"""What a tool says about itself, read from any provider's shape."""

import msgspec
import pytest

from tests.catalogs import SHAPES, in_shape
from toolscout.contract.tools import Tool
from toolscout.tools.documents import PURPOSE_CHARS, Document, find_quoted_requests, read_tool

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
    document = read(name="t", description="Outer", definition=definition)
    assert (document.plain_description, document.purpose) == ("Outer", "Outer Inner")


@pytest.mark.parametrize("inner", ["Draws a chart", "chart", "Draws a chart, and prints it"])
def test_what_a_definition_says_more_is_searched_once(inner: str):
    definition = {"name": "t", "description": inner}
    document = read(name="t", description="Draws a chart", definition=definition)
    assert document.description.split().count("chart") + document.description.count("chart,") == 1
    assert ("prints" in document.description) is ("prints" in inner)


PLAIN = "Moves a page of the wiki. " + "It keeps the history of the page and all of its links. " * 5


@pytest.mark.parametrize(
    ("passage", "requests"),
    [
        ('Use when the user says "rename this page" or "move the article".', 2),
        ("USE WHEN: User asks “give the page another name”", 1),
        ('Example requests: "call it something else"', 1),
        ('NOT FOR: when the user says "delete the page", use delete_page', 0),
        ('The status is "not found" or "moved for good".', 0),
        ('Use when the user says "rename"', 0),
    ],
)
def test_requests_that_a_description_quotes_are_embedded(passage: str, requests: int):
    document = read(name="move_page", description=f"{PLAIN}\n{passage}")
    quoted = find_quoted_requests(document.plain_description)
    assert len(quoted) == requests
    assert document.purpose == " ".join([PLAIN[:PURPOSE_CHARS].rstrip(), *quoted])


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


VALUES = {"type": "string", "enum": ["sepia", "pastel"], "description": "hue of the watermark"}
NESTS = {
    "itself": lambda one: one,
    "a value or null": lambda one: {"anyOf": [one, {"type": "null"}]},
    "one of": lambda one: {"oneOf": [one, {"type": "integer"}]},
    "all of": lambda one: {"allOf": [{"type": "string"}, one]},
    "a list": lambda one: {"type": "array", "items": one},
    "a pair": lambda one: {"type": "array", "prefixItems": [{"type": "integer"}, one]},
    "a mapping": lambda one: {"type": "object", "additionalProperties": one},
    "a reference": lambda _: {"$ref": "#/$defs/Hue"},
    "a reference in a list or null": lambda _: {
        "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Hue"}}, {"type": "null"}]
    },
}


@pytest.mark.parametrize("key", ["parameters", "inputSchema", "parametersJsonSchema"])
@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS.keys())
def test_values_and_descriptions_below_a_property_are_read(nest, key: str):
    schema = {"properties": {"f": nest(VALUES)}, "$defs": {"Hue": VALUES}}
    document = read(name="t", definition={key: schema})
    for text in (document.properties, document.property_heads):
        assert text == "f hue of the watermark sepia pastel"


def test_constants_are_values():
    options = [{"const": "sepia", "title": "Sepia"}, {"const": "pastel"}, {"const": 5}]
    document = read(name="t", parameters={"properties": {"f": {"oneOf": options}}})
    assert document.properties == "f sepia pastel"


def test_references_without_end_are_read_within_a_bound():
    node = {"anyOf": [{"$ref": "#/$defs/Node"}] * 50, "description": "a node"}
    names = {f"p{number}": {"$ref": "#/$defs/Node"} for number in range(200)}
    document = read(name="t", parameters={"properties": names, "$defs": {"Node": node}})
    assert document.properties.startswith("p0 a node p1")


@pytest.mark.parametrize(
    "reference", ["#", "#/", "#/$defs/Nowhere", "#x", "other.json", "#/a" * 99]
)
def test_a_reference_that_leads_nowhere_says_nothing(reference: str):
    schema = {"properties": {"f": {"$ref": reference, "description": "a hue"}}}
    assert read(name="t", parameters=schema).properties.startswith("f a hue")


def test_at_most_a_few_values_of_a_property_are_read():
    many = {"anyOf": [{"enum": [f"v{number}" for number in range(30)]}] * 3}
    assert len(read(name="t", parameters={"properties": {"f": many}}).properties.split()) == 33


@pytest.mark.parametrize("key", ["outputSchema", "output_schema", "responseJsonSchema"])
def test_what_a_tool_returns_is_read(key: str):
    returned = {"properties": {"humidity": {"description": "water in the air"}}}
    document = read(name="t", definition={"name": "t", key: returned})
    assert document.properties == "humidity water in the air"
    assert document.required == ()


def test_texts_of_input_examples_are_read():
    examples = [{"city": "Reykjavik", "days": 3}, {"city": "Oslo", "tags": ["fjord"]}]
    document = read(name="t", definition={"input_examples": examples})
    assert document.properties == "Reykjavik Oslo fjord"
    many = read(name="t", definition={"input_examples": [f"v{number}" for number in range(99)]})
    assert len(many.properties.split()) == 32


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
