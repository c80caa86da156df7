"""What an operation takes: names, places, references, what its method says of the risk."""

import pytest

from tests.files.documents import JSON, api, body, parameter
from toolscout import Engine
from toolscout.files.operations import read_operations
from toolscout.tools.risk import risk_of


def schema_of(operation, method="get", **more):
    (tool,) = read_operations(api(operation, method, **more))
    return tool["definition"]["input_schema"]


def properties_of(operation, method="get", **more):
    return schema_of(operation, method, **more)["properties"]


def test_a_name_in_path_and_query_is_two_parameters():
    both = [parameter("id", "path", schema={"type": "string"}), parameter("id")]
    assert properties_of({"parameters": both}) == {"id": {"type": "string"}, "query_id": {}}


def test_a_parameter_of_the_operation_replaces_that_of_its_path():
    document = api({"parameters": [parameter("page", description="own")]})
    document["paths"]["/a/{id}"]["parameters"] = [parameter("page", description="shared")]
    (tool,) = read_operations(document)
    assert tool["definition"]["input_schema"]["properties"] == {"page": {"description": "own"}}


def test_a_description_of_the_parameter_goes_before_that_of_its_schema():
    given = parameter("colour", schema={"description": "A colour"}, description="Of the door")
    assert properties_of({"parameters": [given]})["colour"] == {"description": "Of the door"}


def test_words_beside_a_reference_take_the_place_of_its_own():
    general = {"schemas": {"Colour": {"type": "string", "description": "A colour"}}}
    own = {"$ref": "#/components/schemas/Colour", "description": "Of the door"}
    found = properties_of(body({"properties": {"door": own}}), "post", components=general)
    assert found["door"] == {"type": "string", "description": "Of the door"}


def test_the_schema_of_a_parameters_content_is_read():
    given = parameter("where", content={JSON: {"schema": {"type": "object"}}})
    assert properties_of({"parameters": [given]})["where"] == {"type": "object"}


def test_fields_that_are_only_in_answers_are_no_inputs():
    inner = {"properties": {"id": {"readOnly": True}, "name": {}}, "required": ["id", "name"]}
    outer = {
        "properties": {"id": {"readOnly": True}, "of": inner},
        "required": ["id", "of"],
    }
    found = schema_of(body(outer), "post")
    assert found["required"] == ["of"]
    assert found["properties"] == {"of": {"properties": {"name": {}}, "required": ["name"]}}


def test_the_fields_of_all_parts_of_a_body_are_joined():
    base = {"schemas": {"Base": {"properties": {"name": {"type": "string"}}, "required": ["name"]}}}
    parts = [{"$ref": "#/components/schemas/Base"}, {"properties": {"age": {"type": "integer"}}}]
    found = schema_of(body({"allOf": parts}), "post", components=base)
    assert found["properties"] == {"name": {"type": "string"}, "age": {"type": "integer"}}
    assert found["required"] == ["name"]


def test_a_body_of_alternatives_is_one_property():
    found = schema_of(body({"oneOf": [{"type": "string"}, {"type": "integer"}]}), "post")
    assert found["properties"]["body"]["oneOf"] == [{"type": "string"}, {"type": "integer"}]
    assert found["required"] == ["body"]


def test_swagger_2_is_read_alike():
    item = {
        "parameters": [
            parameter("id", "path", type="integer", format="int64", required=True),
            parameter("tags", type="array", items={"type": "string"}, collectionFormat="csv"),
            parameter("pet", "body", required=True, schema={"$ref": "#/definitions/Pet"}),
        ],
        "summary": "Change a pet",
    }
    pet = {"properties": {"name": {"type": "string", "x-nullable": True}}, "required": ["name"]}
    (tool,) = read_operations(
        {"swagger": "2.0", "paths": {"/pets/{id}": {"put": item}}, "definitions": {"Pet": pet}}
    )
    assert tool["name"] == "put_pets_id"
    assert tool["definition"]["input_schema"]["properties"] == {
        "id": {"type": "integer", "format": "int64"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "name": {"type": ["string", "null"]},
    }
    assert tool["definition"]["input_schema"]["required"] == ["id", "name"]


def test_fields_of_a_form_of_swagger_2_are_inputs():
    form = [parameter("file", "formData", type="file", required=True)]
    found = schema_of({"parameters": form}, "post")
    assert found["properties"] == {"file": {"type": "string", "format": "binary"}}
    assert found["required"] == ["file"]


def test_methods_of_openapi_3_2_are_operations():
    document = api({}, "query")
    document["paths"]["/a/{id}"]["additionalOperations"] = {"COPY": {"operationId": "copy"}}
    assert [tool["name"] for tool in read_operations(document)] == ["one", "copy"]


@pytest.mark.parametrize(
    ("method", "summary", "risk"),
    [
        ("get", "List pets", "read_only"),
        ("get", "Delete a pet", "destructive"),
        ("delete", "List pets", "destructive"),
        ("post", "List pets", "write_remote"),
        ("post", "Delete a pet", "destructive"),
        ("put", "Get a pet", "write_remote"),
        ("patch", "Get a pet", "write_remote"),
    ],
)
def test_a_method_may_only_raise_the_risk(method: str, summary: str, risk: str):
    (tool,) = read_operations(api({"operationId": "pets", "summary": summary}, method))
    assert risk_of(tool) == risk


def test_what_is_deprecated_says_so_and_comes_behind_its_successor():
    document = api({"operationId": "a_list", "summary": "List all orders", "deprecated": True})
    document["paths"]["/b"] = {"get": {"operationId": "b_list", "summary": "List all orders"}}
    old, _ = read_operations(document)
    assert old["definition"]["description"] == "List all orders (deprecated)"
    assert Engine(document).search("list all orders").names == ["b_list", "a_list"]


@pytest.mark.parametrize(
    ("operation", "names"),
    [
        (
            {
                "parameters": [parameter("id", "path", schema={"type": "integer"})],
                **body({"properties": {"name": {}}, "required": ["id", "name"]}),
            },
            ["id", "name"],
        ),
        ({"parameters": [parameter("body")], **body({"type": "array"})}, ["body", "body_body"]),
        (
            {"parameters": [parameter("id", "path"), parameter("id", "formData", type="string")]},
            ["id", "body_id"],
        ),
    ],
)
def test_a_parameter_and_a_field_of_one_name_are_both_kept(operation, names):
    assert list(properties_of(operation, "post")) == names


def test_what_is_no_path_and_no_id_is_none():
    document = api({"operationId": None})
    document["paths"]["x-note"] = {"get": {}}
    assert [tool["name"] for tool in read_operations(document)] == ["get_a_id"]


def test_a_heading_is_no_first_line():
    text = "### Description\n\nExports the invoices of a customer. As PDF."
    document = api({"summary": None, "description": text})
    assert Engine(document).search("export invoices of a customer").names == ["one"]


def test_many_operations_of_one_name_are_numbered_at_once():
    paths = {f"/{n}": {"get": {"operationId": "same"}} for n in range(20_000)}
    names = [tool["name"] for tool in read_operations({"openapi": "3.0.0", "paths": paths})]
    assert names[-1] == "same_20000"
