"""Long schemas are shortened: what is told least of goes first, and what was cut is marked."""

import json
from typing import Any

import pytest

from tests.files.documents import api, body
from toolscout.files import operations
from toolscout.files.operations import MAX_TOOL_BYTES, find_level, read_operations


def schema_of(fields: dict[str, Any], required: list[str] | None = None, **more: Any) -> Any:
    schema = {"type": "object", "properties": fields, "required": required or []}
    (tool,) = read_operations(api(body(schema), "post", **more))
    assert len(json.dumps(tool["definition"]["input_schema"])) < 1.2 * MAX_TOOL_BYTES
    return tool["definition"]["input_schema"]


TOLD = {"type": "string", "description": "What it is. " * 20}


def test_descriptions_within_fields_go_first():
    part = {"type": "object", "description": "A part", "properties": dict.fromkeys("abcdef", TOLD)}
    found = schema_of({f"part_{n}": part for n in range(40)})["properties"]["part_7"]
    assert found["description"] == "A part"
    assert found["properties"] == {key: {"type": "string"} for key in "abcdef"}


def test_then_depth_and_what_is_cut_is_marked():
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(4):
        deep = {"type": "object", "properties": {f"field_{n}": deep for n in range(8)}}
    found = schema_of({"deep": deep})["properties"]["deep"]
    assert '{"type": "object", "description": "\\u2026"}' in json.dumps(found)


def test_then_fields_that_are_not_required():
    fields = {f"a_rather_long_name_of_field_{n}": TOLD for n in range(2_000)}
    last = "a_rather_long_name_of_field_1999"
    found = schema_of(fields, [last])
    assert found["required"] == [last]
    assert found["properties"][last] == {"type": "string"}
    left = 2_000 - len(found["properties"])
    assert found["description"] == f"… {left:,} fields left out"


def test_values_to_choose_from_are_whole():
    colours = [f"colour {n}" for n in range(50)]
    kind = {"type": "string", "enum": colours, "description": "x" * 400}
    found = schema_of({f"kind_{n}": kind for n in range(30)})
    assert all(one["enum"] == colours for one in found["properties"].values())


@pytest.mark.parametrize("values", [float("nan"), 10**400, "…"])
def test_values_that_are_odd_do_no_harm(values):
    json.dumps(schema_of({"a": {"default": values}}))


def test_a_schema_that_holds_itself_ends():
    node = {"properties": {"name": {"type": "string"}}}
    node["properties"] |= {f"child_{n}": {"$ref": "#/components/schemas/Node"} for n in range(20)}
    components = {"schemas": {"Node": node}}
    found = schema_of({"of": {"$ref": "#/components/schemas/Node"}}, components=components)
    assert found["properties"]["of"]["properties"]["name"] == {"type": "string"}


def test_references_in_a_circle_end():
    loop = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    found = schema_of({"a": {"$ref": "#/components/schemas/A"}}, components={"schemas": loop})
    assert found["properties"] == {"a": {}}


def test_6_000_levels_are_read():
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(6_000):
        deep = {"type": "object", "properties": {"in": deep}}
    assert schema_of({"deep": deep})["properties"]["deep"]["type"] == "object"


def test_all_tools_of_a_document_are_within_one_bound(monkeypatch, caplog):
    monkeypatch.setattr(operations, "MAX_BYTES", 60_000)
    big = {"type": "object", "properties": {f"field_{n}": TOLD for n in range(60)}}
    document = api({}, components={"schemas": {"Big": big}})
    post = {**body({"$ref": "#/components/schemas/Big"}), "summary": "Change it"}
    document["paths"] |= {f"/{n}": {"post": post} for n in range(30)}
    tools = read_operations(document)
    assert len(json.dumps(tools)) < 1.3 * 60_000
    assert [message for message in caplog.messages if "shortened 30 of 31 schemas" in message]
    assert tools[0]["definition"]["input_schema"]["properties"] == {}


@pytest.mark.parametrize(
    ("sizes", "room", "level"),
    [([5, 5], 10, 5), ([1, 9, 9], 11, 5), ([4], 9, 9), ([3, 3], 0, 0), ([], 7, 7)],
)
def test_the_largest_are_cut_alike(sizes, room, level):
    assert find_level(sizes, room) == level


def test_what_is_required_and_does_not_fit_is_left_out_too():
    fields = {f"a_rather_long_name_of_field_{n}": TOLD for n in range(3_000)}
    found = schema_of(fields, list(fields))
    assert found["required"] == list(found["properties"])
    assert 100 < len(found["required"]) < 3_000


def test_descriptions_are_within_the_bound_of_all_tools(monkeypatch):
    monkeypatch.setattr(operations, "MAX_BYTES", 100_000)
    paths = {f"/{n}": {"get": {"description": "说明" * 1_000}} for n in range(40)}
    tools = read_operations({"openapi": "3.0.0", "paths": paths})
    assert len(json.dumps(tools, ensure_ascii=False).encode()) < 110_000
    assert all(tool["description"].endswith("…") for tool in tools)
