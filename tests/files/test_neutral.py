"""One form for schemas of every version: JSON Schema 2020-12."""

import pytest
from jsonschema import Draft202012Validator

from toolscout.files.neutral import neutralise


@pytest.mark.parametrize(
    ("given", "neutral"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "string", "nullable": True, "enum": ["a"]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"anyOf": [{"type": "string"}], "nullable": True},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
        (
            {"allOf": [{}], "nullable": True, "description": "x"},
            {"description": "x", "anyOf": [{"allOf": [{}]}, {"type": "null"}]},
        ),
        ({"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}),
        ({"maximum": 9, "exclusiveMaximum": False}, {"maximum": 9}),
        ({"exclusiveMinimum": True}, {}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        (
            {"type": "array", "items": [{"type": "string"}], "additionalItems": False},
            {"type": "array", "items": False, "prefixItems": [{"type": "string"}]},
        ),
        ({"dependencies": {"a": ["b"]}}, {"dependentRequired": {"a": ["b"]}}),
        ({"dependencies": {"a": {}}}, {"dependentSchemas": {"a": {}}}),
        ({"example": 5}, {"examples": [5]}),
        ({"type": "file"}, {"type": "string", "format": "binary"}),
        ({"type": "int"}, {"type": "integer"}),
        ({"type": "Any"}, {}),
        ({"type": ["string"]}, {"type": "string"}),
        ({"required": True}, {}),
        ({"uniqueItems": 1, "deprecated": "yes"}, {}),
        ({"pattern": 0, "minLength": -1, "maximum": "9", "multipleOf": 0, "title": None}, {}),
        ({"xml": {}, "discriminator": {}, "x-go-name": "A", "externalDocs": {}}, {}),
        ({"const": "a", "format": "date"}, {"const": "a", "format": "date"}),
    ],
)
def test_a_schema_is_written_in_the_newest_draft(given, neutral):
    made = neutralise(given)
    assert made == neutral
    Draft202012Validator.check_schema(made)
