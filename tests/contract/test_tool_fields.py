"""Fields of a tool beside its text: found by, digested, checked, null like absent."""

from typing import Any

import pytest

from tests.support import TOOLS, Server, problem_of

FIELDS: dict[str, Any] = {
    "description": "Turn a page",
    "definition": {"input_schema": {}},
    "parameters": {"type": "object", "properties": {"zebra": {"type": "string"}}},
    "namespace": "zoo",
    "domain": "zoology",
    "tags": ["striped"],
    "keywords": ["savanna"],
    "source": "acp",
    "capabilities": ["gallop"],
    "risk": "read_only",
    "annotations": {"readOnlyHint": True},
    "status": "available",
    "required_keys": ["ZOO_TOKEN"],
}


def digest(server: Server, **fields: Any) -> str:
    response = server.search("page", [{"name": "plain_page", **fields}])
    assert response.status_code == 200, response.text
    found: str = response.headers["x-catalog-digest"]
    return found


AUTHORS = ("description", "definition", "parameters", "annotations")
"""Fields whose mistakes are those of a tool's author; the others are the caller's own."""


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_is_part_of_the_digest(server: Server, field: str):
    assert digest(server, **{field: FIELDS[field]}) != digest(server)


@pytest.mark.parametrize("field", FIELDS)
def test_null_is_absent(server: Server, field: str):
    assert digest(server, **{field: None}) == digest(server)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *((field, 7) for field in FIELDS if field not in AUTHORS),
        ("tags", "striped"),
        ("tags", [1]),
        ("keywords", [None]),
        ("risk", "harmless"),
        ("status", "broken"),
    ],
)
def test_a_wrong_type_is_refused_with_its_place(server: Server, field: str, wrong: Any):
    response = server.search("page", [*TOOLS, {"name": "plain_page", field: wrong}])
    problem = problem_of(response, 422, "invalid_request")
    assert problem["errors"][0]["path"].startswith(f"tools[{len(TOOLS)}].{field}")


@pytest.mark.parametrize(
    ("field", "word"),
    [("namespace", "zoo"), ("tags", "striped"), ("keywords", "savanna"), ("parameters", "zebra")],
)
@pytest.mark.parametrize("ranker", ["hybrid", "bm25"])
def test_labels_are_found_by(server: Server, field: str, word: str, ranker: str):
    tools = [*TOOLS, {"name": "plain_page", field: FIELDS[field]}]
    assert server.names(word, tools, ranker=ranker)[:1] == ["plain_page"]


@pytest.mark.parametrize("ranker", ["auto", "regex", "bm25", "semantic", "hybrid", "rrf", "okapi"])
def test_an_unavailable_tool_is_not_selected(server: Server, ranker: str):
    for pattern in ["read_file", "read a text file", "read.*file"]:
        gone = {"name": "read_file", "description": "Read a text file", "status": "unavailable"}
        tools = [tool for tool in TOOLS if tool["name"] != "read_file"]
        names = server.names(pattern, [*tools, gone], ranker=ranker, always_keep=["read_file"])
        assert "read_file" not in names
