"""Every provider's tool shape is read: names, descriptions and properties, nested ones too."""

import json

import pytest

from tests.catalogs import SHAPES, in_shape
from tests.support import TOOLS, Server

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "zipcode": {"type": "string", "description": "postal area of the parcel"},
        "legs": {
            "type": "array",
            "items": {"type": "object", "properties": {"carrier": {"description": "lorry firm"}}},
        },
        "insurance": {"anyOf": [{"properties": {"premium": {"type": "number"}}}, {"$ref": "#/x"}]},
    },
    "$defs": {"Customs": {"properties": {"tariff_heading": {"type": "string"}}}},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_properties_are_found_in_every_shape(server: Server, shape: str):
    for key in ["definition", "parameters"]:
        for word in ["zipcode", "postal", "carrier", "lorry", "premium", "tariff"]:
            tool = {"name": "ship", key: in_shape(shape, "ship", "Move it", SCHEMA)}
            assert server.names(word, [*TOOLS, tool], ranker="bm25") == ["ship"]
            assert server.names(word, [*TOOLS, tool], ranker="regex") == ["ship"]


@pytest.mark.parametrize("shape", [s for s in SHAPES if s != "bare_schema"])
def test_description_is_taken_from_the_definition_when_missing(server: Server, shape):
    for missing in [{}, {"description": ""}, {"description": None}]:
        definition = in_shape(shape, "ship", "Dispatch a parcel", SCHEMA)
        tool = {"name": "ship", **missing, "definition": definition}
        assert server.names("dispatch parcels", [*TOOLS, tool])[0] == "ship"


@pytest.mark.parametrize("shape", [s for s in SHAPES if s != "bare_schema"])
def test_name_inside_a_definition_is_an_alias(server: Server, shape: str):
    tool = {"name": "t1", "definition": in_shape(shape, "dispatchParcel", None, SCHEMA)}
    names = server.names("dispatch_parcel", [*TOOLS, tool])
    assert names[0] == "t1"
    assert "dispatchParcel" not in names


def test_description_that_is_json_is_read_for_its_text(server: Server):
    description = json.dumps({"description": "Dispatch a parcel", "input_schema": SCHEMA})
    tool = {"name": "t1", "description": description}
    assert server.names("dispatch a parcel", [*TOOLS, tool])[0] == "t1"
    assert server.names("zipcode", [*TOOLS, tool])[0] == "t1"


@pytest.mark.parametrize("description", ["{", "{}", "[1, 2]", '"text"', "null", "{'a': 1}"])
def test_description_that_is_nearly_json_is_no_error(server: Server, description: str):
    tool = {"name": "odd_one", "description": description}
    assert server.names("odd_one", [*TOOLS, tool])[0] == "odd_one"


@pytest.mark.parametrize(
    "definition",
    [
        {},
        {"parameters": None},
        {"input_schema": []},
        {"function": "x"},
        {"properties": {"a": None, "b": 3, "c": True}},
        {"properties": ["a"]},
        {"name": 5, "description": ["x"], "parameters": {"properties": "y"}},
        {"cache_control": {"type": "ephemeral"}, "strict": True, "$ref": "#/$defs/A"},
    ],
)
def test_odd_definitions_are_tolerated(server: Server, definition: dict):
    tool = {"name": "odd_one", "definition": definition}
    assert server.names("odd_one", [*TOOLS, tool])[0] == "odd_one"


def test_deeply_nested_properties_are_found(server: Server):
    schema: dict = {"properties": {"kernel": {"description": "innermost"}}}
    for level in range(40):
        schema = {"properties": {f"level{level}": schema}}
    tool = {"name": "nest", "definition": {"input_schema": schema}}
    assert server.names("innermost kernel", [*TOOLS, tool], ranker="bm25") == ["nest"]


@pytest.mark.parametrize(
    ("field", "value"), [("keywords", ["quokka"]), ("tags", ["quokka"]), ("namespace", "quokka")]
)
def test_further_text_of_a_tool_is_found(server: Server, field: str, value: object):
    assert server.names("quokka", [*TOOLS, {"name": "ship", field: value}], ranker="bm25") == [
        "ship"
    ]


def test_a_very_long_alias_is_no_error(server: Server):
    tool = {"name": "odd_one", "definition": {"name": "word " * 70_000}}
    assert server.names("odd_one", [*TOOLS, tool])[0] == "odd_one"
    assert server.names("read a file", [*TOOLS, tool])[0] == "read_file"
