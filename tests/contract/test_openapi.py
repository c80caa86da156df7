"""The OpenAPI document is the application's, checked in, and lies at /openapi.json."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.support import SEARCH, Server, toolscout
from toolscout.contract.bounds import MAX_PAGE_SIZE, PAGE_SIZE
from toolscout.server.openapi.document import make_document

Json = dict[str, Any]

CHECKED_IN = Path(__file__).parents[2] / "openapi.yaml"


def test_the_checked_in_document_is_the_applications():
    assert yaml.safe_load(CHECKED_IN.read_text("utf-8")) == make_document(), "run `make openapi`"


def test_the_command_prints_the_checked_in_bytes():
    done = toolscout("openapi")
    assert done.returncode == 0, done.stderr
    assert done.stdout == CHECKED_IN.read_text("utf-8"), "run `make openapi`"


def test_the_server_serves_it(server: Server):
    response = server.get("/openapi.json")
    assert response.headers["content-type"].startswith("application/json")
    assert response.json() == make_document()


@pytest.mark.parametrize("path", [SEARCH, "/api/compress/tool-discovery"])
def test_its_examples_work(server: Server, path: str):
    content = make_document()["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    response = server.post(content["example"], path)
    assert response.status_code == 200
    assert response.json()["selected_names"] == ["search_code"]


def test_it_is_served_as_yaml_too(server: Server):
    response = server.get("/openapi.yaml")
    assert response.headers["content-type"] == "application/yaml"
    assert response.text == CHECKED_IN.read_text("utf-8")


def operations() -> list[tuple[str, str, Json]]:
    return [
        (path, method, operation)
        for path, item in make_document()["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    ]


def examples() -> list[Any]:
    found = []
    for _, _, operation in operations():
        name = operation["operationId"]
        holders = {"body": operation.get("requestBody", {}), **operation["responses"]}
        for where, holder in holders.items():
            content = holder.get("content", {}).get("application/json", {})
            if "example" in content:
                values = (content["schema"], content["example"])
                found.append(pytest.param(*values, id=f"{name} {where}"))
    return found


@pytest.mark.parametrize(("schema", "example"), examples())
def test_every_example_is_valid(schema: Json, example: Any):
    whole = {**schema, "components": make_document()["components"]}
    jsonschema.validate(example, whole, jsonschema.Draft202012Validator)


def test_every_body_and_every_answer_of_a_shape_has_an_example():
    for path, method, operation in operations():
        contents = [operation.get("requestBody", {}).get("content", {})]
        contents += [
            r.get("content", {})
            for s, r in operation["responses"].items()
            if s in ("200", "201", "202")
        ]
        for content in contents:
            shape = content.get("application/json", {})
            assert "example" in shape or "$ref" not in str(shape), (method, path)


def test_no_field_has_a_default_and_every_field_a_description():
    """Generators take a field with a default for one that is always there."""
    for name, schema in make_document()["components"]["schemas"].items():
        for field, described in schema.get("properties", {}).items():
            assert "default" not in described, f"{name}.{field}"
            assert described["description"], f"{name}.{field}"


def test_the_bounds_of_a_page_are_those_of_the_contract():
    parameters = make_document()["paths"]["/v1/catalogs/{id}/tools"]["get"]["parameters"]
    [size] = [one["schema"] for one in parameters if one["name"] == "page_size"]
    assert (size["maximum"], size["default"]) == (MAX_PAGE_SIZE, PAGE_SIZE)


def test_definitions_of_tools_are_open_objects():
    tool = make_document()["components"]["schemas"]["Tool"]["properties"]
    for field in ("definition", "parameters"):
        [kind] = [k for k in tool[field]["anyOf"] if k["type"] == "object"]
        assert kind["additionalProperties"] is True
