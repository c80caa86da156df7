"""OpenAPI documents are files of tools: one for each operation."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolscout.cli import main
from toolscout.contract.tools import Tool
from toolscout.errors import InvalidJson, InvalidRequest
from toolscout.files.operations import is_openapi, read_operations
from toolscout.files.reading import read_file
from toolscout.tools.conversion import read_tools
from toolscout.tools.documents import read_tool

ROOT = Path(__file__).parents[2]
REF = "#/components/schemas/{}".format
JSON = "application/json"

BOOK = {
    "type": "object",
    "required": ["title", "shelf"],
    "properties": {
        "title": {"type": "string", "description": "As on the cover"},
        "shelf": {"$ref": REF("Shelf")},
        "sequel": {"$ref": REF("Book")},
    },
}
LIBRARY: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Library", "version": "1"},
    "paths": {
        "/books/{book}": {
            "parameters": [{"name": "book", "in": "path", "required": True, "schema": {}}],
            "get": {
                "operationId": "books.read",
                "summary": "Read a book",
                "description": "Read a book",
                "parameters": [{"$ref": "#/components/parameters/Page"}],
            },
            "put": {
                "operationId": "replace_book",
                "summary": "Replace a book",
                "description": "All of its fields.",
                "requestBody": {
                    "required": True,
                    "content": {"text/plain": {}, JSON: {"schema": {"$ref": REF("Book")}}},
                },
            },
        },
        "/books": {
            "post": {
                "requestBody": {"content": {JSON: {"schema": {"type": "array"}}}},
                "parameters": [{"name": "Accept", "in": "header"}, {"name": "dry", "in": "query"}],
            },
            "x-note": "no operation",
        },
    },
    "components": {
        "schemas": {"Book": BOOK, "Shelf": {"type": "string", "enum": ["A", "B"]}},
        "parameters": {
            "Page": {
                "name": "page",
                "in": "query",
                "description": "From 1",
                "schema": {"type": "integer"},
            }
        },
    },
}


def by_name() -> dict[str, Any]:
    return {tool["name"]: tool for tool in read_operations(LIBRARY)}


def test_names_and_descriptions_are_those_of_the_operations():
    assert {name: tool["definition"]["description"] for name, tool in by_name().items()} == {
        "books_read": "Read a book",
        "replace_book": "Replace a book\n\nAll of its fields.",
        "post_books": "POST /books",
    }


def test_parameters_of_path_and_operation_are_properties():
    schema = by_name()["books_read"]["definition"]["input_schema"]
    assert schema["properties"] == {
        "book": {},
        "page": {"description": "From 1", "type": "integer"},
    }
    assert schema["required"] == ["book"]


def test_the_fields_of_a_body_are_properties_with_their_references_written_out():
    schema = by_name()["replace_book"]["definition"]["input_schema"]
    assert schema["required"] == ["book", "title", "shelf"]
    assert schema["properties"]["shelf"] == {"type": "string", "enum": ["A", "B"]}
    sequel = schema["properties"]["sequel"]
    assert sequel["properties"]["title"]["description"] == "As on the cover"
    assert len(json.dumps(schema)) < 20_000  # a book refers to itself


def test_a_body_that_is_no_object_is_one_property():
    schema = by_name()["post_books"]["definition"]["input_schema"]
    assert schema["properties"] == {"dry": {}, "body": {"type": "array", "items": {}}}
    assert schema["required"] == []


def test_operations_of_one_name_are_numbered():
    twice = {
        "openapi": "3.0.0",
        "paths": {p: {"get": {"operationId": "get"}} for p in ("/a", "/b")},
    }
    assert [tool["name"] for tool in read_operations(twice)] == ["get", "get_2"]


@pytest.mark.parametrize("suffix", ["json", "yaml", "yml"])
def test_a_document_is_read_by_every_command(tmp_path: Path, suffix: str, capsys):
    path = tmp_path / f"library.{suffix}"
    write = json.dumps if suffix == "json" else yaml.safe_dump
    path.write_text(write(LIBRARY), "utf-8")
    assert {tool.name for tool in read_file(path)} == by_name().keys()
    assert main(["search", "read a book", "--tools", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "books_read"
    assert main(["lint", "--tools", str(path)]) in (0, 1)
    questions = tmp_path / "questions.csv"
    questions.write_text("query,tools\nread a book,books_read\n", "utf-8")
    assert main(["evaluate", "--tools", str(path), "--questions", str(questions)]) == 0


def test_the_service_is_found_in_its_own_document():
    names = [tool.name for tool in read_file(ROOT / "openapi.yaml")]
    assert {"search", "putCatalog", "deleteCatalog"} <= {*names}


def test_yaml_that_is_none_says_where(tmp_path: Path):
    path = tmp_path / "tools.yaml"
    path.write_text("paths:\n  - a: [1\n", "utf-8")
    with pytest.raises(InvalidJson, match=r"tools\.yaml:3:1: not valid YAML: "):
        read_file(path)
    path.write_text("openapi: 2.0.0\npaths: {}\n", "utf-8")
    with pytest.raises(InvalidRequest, match="an OpenAPI document, version"):
        read_file(path)


def test_a_file_of_servers_says_what_lists_their_tools(tmp_path: Path):
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"git": {"command": "git-mcp"}}}', "utf-8")
    with pytest.raises(InvalidRequest, match=r"servers, not tools.* mcp --config .*mcp\.json"):
        read_file(path)


ANY = st.recursive(
    st.none() | st.booleans() | st.text(max_size=4) | st.just("#/paths"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["$ref", "get", "parameters", "schema", "content", "name", "in", "requestBody"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["/a", "/b"]), ANY))
def test_no_document_raises(paths: dict[str, Any]):
    document = {"openapi": "3.0.1", "paths": paths}
    assert is_openapi(document)
    msgspec.json.encode(read_operations(document))


def nested(levels: int, **innermost: Any) -> dict[str, Any]:
    """Return a schema of objects within objects, each of which requires the next one."""
    if levels == 0:
        return {"type": "string", **innermost}
    inner = nested(levels - 1, **innermost)
    return {"type": "object", "properties": {"next": inner}, "required": ["next"]}


def document_of(*schemas: dict[str, Any]) -> dict[str, Any]:
    """Return a document with an operation for each schema of a body."""
    paths = {}
    for number, schema in enumerate(schemas):
        operation = {
            "operationId": f"put_{number}",
            "summary": f"Replace everything on shelf {number}",
            "requestBody": {"required": True, "content": {JSON: {"schema": schema}}},
        }
        paths[f"/{number}"] = {"put": operation}
    return {"openapi": "3.1.0", "paths": paths}


Lint = Callable[..., tuple[list[str], list[str]]]


@pytest.fixture
def lint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> Lint:
    """Lint a document; returns what is found in bodies of these schemas, and what is warned of."""

    def lint(*schemas: dict[str, Any]) -> tuple[list[str], list[str]]:
        path = tmp_path / "api.json"
        path.write_text(json.dumps(document_of(*schemas)), "utf-8")
        main(["lint", "--json", "--ignore", "near-duplicate", "--tools", str(path)])
        found = json.loads(capsys.readouterr().out)
        return [each["detail"] for each in found], caplog.messages

    return lint


WIDE = {
    "type": "object",
    "properties": {
        f"part_{number}": {
            "type": "object",
            "properties": {"kind": {"type": ["string", "null"], "enum": ["a", None]}},
            "required": ["kind"],
        }
        for number in range(600)
    },
}


@pytest.mark.parametrize("schema", [nested(14), nested(40)], ids=["deep", "deeper"])
def test_what_is_shortened_here_is_no_fault_of_the_document(lint: Lint, schema):
    found, told = lint(schema)
    assert found == []
    assert told == ["shortened 1 of 1 schema, where … stands: put_0"]


def test_shortened_schemas_are_told_once_for_all_tools(lint: Lint):
    _, (told,) = lint(*[nested(20)] * 4)
    assert told.endswith("4 of 4 schemas, where … stands: put_0, put_1, put_2 and 1 more")


def test_a_schema_of_usual_depth_is_neither_shortened_nor_told(lint: Lint):
    assert lint(nested(5)) == ([], [])


@pytest.mark.parametrize("above", [0, 1, 4, 5])
def test_a_required_name_without_a_property_is_told_and_taken_as_it_comes(lint: Lint, above: int):
    ghost = nested(3)
    ghost["required"].append("ghost")
    for _ in range(above):
        ghost = {"type": "object", "properties": {"next": ghost}, "required": ["next"]}
    found, told = lint(ghost)
    assert found == []
    assert told == ["required, but described nowhere, so taken as they come: ghost"]


def test_a_reference_that_leads_nowhere_is_told(lint: Lint):
    body = {"type": "object", "properties": {"of": {"$ref": "#/components/schemas/Gone"}}}
    _, told = lint(body)
    assert told == ["references that lead nowhere: #/components/schemas/Gone"]


def test_a_tool_is_found_by_its_first_line_and_its_methods_verb():
    (tool,) = [tool for tool in read_operations(LIBRARY) if tool["name"] == "replace_book"]
    assert tool["description"] == "Replace a book"
    assert tool["keywords"] == ["set"]
    assert "all of its fields" not in json.dumps(read_tool(convert(tool)).description).lower()
    assert read_tool(convert(tool)).plain_description == "Replace a book\n\nAll of its fields."


def convert(tool: dict[str, Any]) -> Tool:
    (converted,) = read_tools([tool])
    return converted
