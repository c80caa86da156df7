"""Example calls of tools, made from their schemas."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from tests import catalogs
from toolscout.tools.advice import MAX_STEPS, example_arguments


def of(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


POINT = of(["x", "y"], x={"type": "number"}, y={"type": "number", "minimum": 5})


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        (of([], path={"type": "string"}), {}),
        (of(["path"], path={"type": "string"}), {"path": "<path>"}),
        (of(["n"], n={"type": "integer"}), {"n": 1}),
        (of(["n"], n={"type": ["null", "boolean"]}), {"n": True}),
        (of(["unit"], unit={"enum": ["C", "F"]}), {"unit": "C"}),
        (of(["unit"], unit={"type": "string", "default": "K"}), {"unit": "K"}),
        (of(["unit"], unit={"type": "string", "examples": ["R"]}), {"unit": "R"}),
        (of(["unit"], unit={"const": "X"}), {"unit": "X"}),
        (of(["day"], day={"type": "string", "format": "date"}), {"day": "2026-01-31"}),
        (of(["at"], at=POINT), {"at": {"x": 1.0, "y": 5}}),
        (of(["tags"], tags={"type": "array", "items": {"type": "string"}}), {"tags": ["<tags>"]}),
        (of(["to"], to={"anyOf": [{"type": "null"}, {"type": "integer"}]}), {"to": 1}),
        (
            of(["at"], at={"$ref": "#/$defs/P"}) | {"$defs": {"P": POINT}},
            {"at": {"x": 1.0, "y": 5}},
        ),
        ({"allOf": [of(["a"], a={"type": "boolean"}), POINT]}, {"a": True, "x": 1.0, "y": 5}),
        (of(["lost"]), {"lost": "<lost>"}),
        (of(["lost"], lost={"$ref": "#/$defs/nowhere"}), {"lost": "<lost>"}),
        ({"properties": 5, "required": "all", "allOf": [3]}, {}),
    ],
)
def test_required_parameters_have_a_value_that_the_schema_allows(
    schema: dict[str, Any], example: dict[str, Any]
):
    assert example_arguments(schema) == example


@pytest.mark.parametrize(
    "endless",
    [
        of(list("abcdefgh"), **{name: {"$ref": "#"} for name in "abcdefgh"}),
        {"allOf": [{"$ref": "#"}] * 50, "required": ["a"]},
        {"$ref": "#", "properties": {"a": {"$ref": "#/properties/a"}}, "required": ["a"]},
    ],
    ids=["properties", "parts", "itself"],
)
def test_a_schema_that_refers_to_itself_has_a_small_example(endless: dict[str, Any]):
    assert str(example_arguments(endless)).count(":") <= MAX_STEPS


@given(catalogs.schemas())
def test_every_schema_has_an_example(schema: dict[str, Any]):
    json.dumps(example_arguments(schema))


def test_examples_of_real_tools_are_valid_calls(data: Path):
    tools = json.loads((data / "catalogs" / "1000.json").read_text("utf-8"))
    schemas = [tool["definition"] for tool in tools]
    valid = [
        jsonschema.Draft202012Validator(schema).is_valid(example_arguments(schema))
        for schema in schemas
    ]
    assert sum(valid) >= 0.99 * len(schemas)
