"""`detail` and `include_definitions`: the selected tools as a model is shown them."""

from typing import Any

import httpx2
import pytest

from tests.support import GATEWAY, TOOLS, Server, crowd, problem_of
from toolscout.contract.bounds import MAX_TOOL_DEPTH

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where"},
        "opts": {"type": "object", "properties": {"deep": {"type": "boolean"}}},
    },
    "required": ["path"],
}
SAID = "Delete a file from disk, e.g. a log. It cannot be undone. Be careful."
FIELDS = {
    "namespace": "disk",
    "domain": "files",
    "tags": ["danger"],
    "source": "mcp",
    "capabilities": ["recursive"],
    "required_keys": ["DISK_TOKEN"],
}
DELETE: dict[str, Any] = {
    "name": "delete_file",
    "description": SAID,
    "definition": {"name": "delete_file", "description": SAID, "input_schema": SCHEMA},
    **FIELDS,
}


def shown(server: Server, tool: dict[str, Any] = DELETE, **fields: Any) -> dict[str, Any]:
    body = server.search("delete_file", [*TOOLS, tool], top_k=1, **fields).json()
    assert body["selected_names"] == ["delete_file"]
    (first,) = body["tools"]
    found: dict[str, Any] = first
    return found


def test_nothing_is_shown_unasked(server: Server):
    for fields in ({}, {"detail": None}, {"include_definitions": False}):
        body = server.search("delete_file", [*TOOLS, DELETE], **fields).json()
        assert set(body) == {"selected_names"}


def test_names_alone(server: Server):
    assert shown(server, detail="names") == {"name": "delete_file"}


def test_in_brief(server: Server):
    brief = shown(server, detail="brief")
    assert brief.pop("tokens_full") > brief.pop("tokens_brief") > 0
    assert brief == {
        "name": "delete_file",
        "summary": "Delete a file from disk, e.g. a log.",
        "parameters": ["path", "opts"],
        "required": ["path"],
        "risk": "destructive",
        "requires_full_schema": True,
        "requires_confirmation": True,
        **FIELDS,
    }


def test_in_full(server: Server):
    full, brief = shown(server, detail="full"), shown(server, detail="brief")
    assert full.pop("description") == SAID
    assert full.pop("input_schema") == SCHEMA
    assert full == brief


@pytest.mark.parametrize("detail", [None, "names", "brief", "full"])
def test_with_the_definition_as_it_was_sent(server: Server, detail: str | None):
    told = shown(server, detail=detail, include_definitions=True)
    assert told["definition"] == DELETE["definition"]
    assert ("summary" in told) == (detail in ("brief", "full"))


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        (
            {"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]},
            "ab",
        ),
        ({"properties": {"a": True, "b": {"$ref": "#/$defs/B"}}, "required": "a"}, "ab"),
        ({"type": "object"}, ""),
        ({"properties": [], "type": "object"}, ""),
        ({"$ref": "#/$defs/A"}, ""),
    ],
)
def test_odd_schemas_are_shown_as_far_as_they_go(server: Server, schema: dict, names: str):
    told = shown(server, {"name": "delete_file", "parameters": schema}, detail="brief")
    assert told["parameters"] == list(names)


def test_the_newer_contract_shows_them_too(server: Server):
    body = {"query": "delete_file", "max_tools": 1, "tools": [DELETE], "detail": "names"}
    answer = server.post(body, GATEWAY).json()
    assert answer["tools"] == [{"name": "delete_file"}]
    assert answer["data"]["relevant_tools"] == answer["selected_names"]


def test_a_digest_shows_the_same_as_the_tools(server: Server):
    fields = {"detail": "full", "include_definitions": True}
    inline = server.search("delete_file", [*TOOLS, DELETE], **fields)
    digest = inline.headers["x-catalog-digest"]
    assert server.search("delete_file", catalog=digest, **fields).json() == inline.json()


def test_tools_that_were_never_compiled_are_shown_alike(server: Server):
    fields = {"detail": "full", "include_definitions": True, "top_k": 1}
    tools = [*crowd(4_000, "sprocket"), DELETE]
    quick = server.search("delete_file", tools, latency_budget_ms=1, explain=True, **fields).json()
    assert quick["ranker"] == "keyword"
    assert quick["tools"] == server.search("delete_file", [DELETE], **fields).json()["tools"]


def test_explained_tokens_are_those_of_what_is_shown(server: Server):
    def tokens(detail: str | None) -> dict[str, int]:
        tools = [*TOOLS, DELETE]
        body = server.search("delete_file", tools, top_k=1, detail=detail, explain=True).json()
        found: dict[str, int] = body["tokens"]
        return found

    brief = shown(server, detail="brief")
    assert tokens("brief")["selected"] == brief["tokens_brief"]
    assert tokens("full")["selected"] == tokens(None)["selected"] == brief["tokens_full"]
    assert tokens("names")["selected"] < tokens("brief")["selected"]


@pytest.mark.parametrize("field", ["definition", "parameters", "annotations"])
def test_schemas_are_shown_that_are_nested_as_deep_as_may_be(server: Server, field: str):
    def answer(levels: int) -> httpx2.Response:
        nested = '{"properties":{"a":' * (levels // 2 - 1) + '{"b":[]}' + "}}" * (levels // 2 - 1)
        body = '{"pattern":"deep","detail":"full","include_definitions":true,"tools":'
        body += '[{"name":"first"},{"name":"deep","%s":%s}]}' % (field, nested)  # noqa: UP031
        return server.post(body.encode())

    for _ in range(2):  # the second time from the cache
        assert answer(MAX_TOOL_DEPTH).json()["selected_names"] == ["deep"]
    problem = problem_of(answer(MAX_TOOL_DEPTH + 2), 400, "invalid_json")
    assert f"more than {MAX_TOOL_DEPTH} levels" in problem["detail"]
    assert problem["errors"][0]["path"] == f"tools[1].{field}"
