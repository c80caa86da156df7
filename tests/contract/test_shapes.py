"""Every call takes tools of any provider's shape, and says what it passed over."""

import json
from typing import Any

import pytest

from tests.catalogs import in_shape
from tests.support import GATEWAY, SEARCH, TOOLS, Server, problem_of

BELOW = "/v1/tool-discovery/"
SCHEMA = {"type": "object", "properties": {"parcel": {"type": "string"}}}
SHAPES = ("openai_chat", "openai_responses", "anthropic", "mcp", "gemini", "bedrock")
BUILTIN = {"type": "web_search"}


def crate(shape: str) -> dict[str, Any]:
    found: dict[str, Any] = in_shape(shape, "crate_up", "Pack goods for the lorry", SCHEMA)
    return found


def around(shape: str) -> dict[str, Any]:
    """All tools in one shape, and what a provider sends around them."""
    tools = [in_shape(shape, tool["name"], tool["description"], {}) for tool in TOOLS]
    tools.append(crate(shape))
    if shape == "gemini":
        return {"tools": [{"functionDeclarations": tools}, {"googleSearch": {}}]}
    if shape == "bedrock":
        return {"tools": {"toolConfig": {"tools": tools}}}
    if shape == "mcp":
        return {"tools": {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}}
    return {"tools": [BUILTIN, *tools]}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_search_reads_every_shape_whole(server: Server, shape: str):
    body = {"pattern": "goods", "latency_budget_ms": 60_000, "detail": "full", **around(shape)}
    for _ in range(2):  # unknown, then known by its bytes
        answer = server.post(body | {"explain": True, "include_definitions": True}).json()
        assert answer["selected_names"][0] == "crate_up"
        shown = answer["tools"][0]
        assert shown["description"] == "Pack goods for the lorry"
        assert shown["input_schema"] == SCHEMA
        skipped = {"bedrock": 0, "mcp": 0}.get(shape, 1)
        assert answer["counts"].get("skipped", 0) == skipped
        assert answer["counts"]["offered"] == len(TOOLS) + 1 + skipped
        assert answer["counts"]["unique"] == len(TOOLS) + 1
    found = server.post({**body, "pattern": "parcel", "ranker": "bm25"}).json()
    assert found["selected_names"] == ["crate_up"]


@pytest.mark.parametrize("shape", ["openai_chat", "anthropic", "mcp", "bedrock"])
def test_a_definition_is_shown_as_it_was_sent(server: Server, shape: str):
    answer = server.search("goods", [crate(shape)], include_definitions=True).json()
    assert answer["tools"][0]["definition"] == crate(shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_other_call_reads_the_same_shapes(server: Server, shape: str):
    tools = around(shape)
    asked: dict[str, dict[str, Any]] = {
        "search:batch": {"patterns": ["goods"], "latency_budget_ms": 60_000},
        "hot": {"message": "goods for the lorry"},
        "resolve": {"names": ["crateUp"]},
        "filter": {"query": "goods for the lorry"},
    }
    for path, fields in asked.items():
        answer = server.post(fields | tools, BELOW + path)
        assert answer.status_code == 200, (path, answer.text)
        assert "crate_up" in answer.text
    assert "crate_up" in server.post({"query": "goods", **tools}, GATEWAY).text


@pytest.mark.parametrize("shape", SHAPES)
def test_a_catalog_is_registered_and_changed_in_every_shape(server: Server, shape: str):
    path = f"/v1/catalogs/shape-{shape.replace('_', '-')}"
    assert server.send("PUT", path, _json(around(shape))).status_code == 201
    assert server.get(f"{path}/tools/crate_up?detail=full").json()["input_schema"] == SCHEMA
    changed = in_shape(shape, "crate_up", "Unpack goods", SCHEMA)
    answer = server.send("PATCH", path, _json({"upsert": [changed]}))
    assert answer.status_code == 200, answer.text
    shown = server.get(f"{path}/tools/crate_up?detail=full").json()
    assert shown["description"] == "Unpack goods"
    assert shown["input_schema"] == SCHEMA


def test_shapes_may_be_mixed_and_large(server: Server):
    filler = [
        in_shape(SHAPES[n % 6], f"filler_{n}", f"Spin gadget {n} " * 20, SCHEMA) for n in range(600)
    ]
    answer = server.search("goods", [*filler, BUILTIN, crate("anthropic"), *TOOLS], explain=True)
    assert answer.json()["selected_names"][0] == "crate_up"
    assert answer.json()["counts"]["skipped"] == 1


CRATES = {"functionDeclarations": [crate("gemini")]}


@pytest.mark.parametrize(
    "entry",
    [
        {"definition": CRATES},
        {"name": None, "description": "", "definition": CRATES},
        {"name": "", "description": None, "definition": CRATES, "parameters": None},
        {"definition": {"function_declarations": [crate("gemini")]}},
    ],
)
def test_declarations_in_a_definition_are_read_as_at_the_top_level(
    server: Server, entry: dict[str, Any]
):
    asked = {"explain": True, "detail": "full", "latency_budget_ms": 60_000}
    expected = server.search("goods", [CRATES, *TOOLS], **asked).json()
    answer = server.search("goods", [*TOOLS, entry], **asked).json()
    assert answer["selected_names"] == ["crate_up"]
    assert answer["tools"] == expected["tools"]
    assert answer["notes"] == []
    with_search = {"definition": CRATES | {"googleSearch": {}}}
    noted = server.search("goods", [with_search], **asked).json()
    assert noted["selected_names"] == ["crate_up"]
    assert noted["notes"] == ["skipped: tools[0] (a built-in without a name)"]


def test_a_named_entry_has_the_words_and_parameters_of_the_one_function_in_its_definition(
    server: Server,
):
    entry = {"name": "op_7", "definition": CRATES}
    for asked in ("goods for the lorry", "parcel", "crate up"):
        answer = server.search(asked, [*TOOLS, entry], ranker="bm25", detail="full").json()
        assert answer["selected_names"][0] == "op_7", asked
        assert answer["tools"][0]["description"] == "Pack goods for the lorry"
        assert answer["tools"][0]["input_schema"] == SCHEMA
    two = {"functionDeclarations": [crate("gemini"), {"name": "x", "description": "Unpack goods"}]}
    shown = server.search("op_7", [{"name": "op_7", "definition": two}], detail="full").json()
    assert "input_schema" not in shown["tools"][0]


@pytest.mark.parametrize("entry", [CRATES, {"definition": CRATES}])
def test_what_a_caller_adds_to_an_entry_holds_for_each_function_that_it_declares(
    server: Server, entry: dict[str, Any]
):
    only_reads = {"max_risk": "read_only"}
    harmless = [entry | {"risk": "read_only"}]
    assert server.names("goods", harmless, filters=only_reads) == ["crate_up"]
    assert server.names("goods", [entry | {"risk": "destructive"}], filters=only_reads) == []
    assert server.names("goods", [entry | {"status": "unavailable"}]) == []
    tagged = [entry | {"tags": ["depot"]}]
    assert server.names("goods", tagged, filters={"tags": ["depot"]}) == ["crate_up"]
    assert server.names("goods", tagged, filters={"tags": ["office"]}) == []


@pytest.mark.parametrize(
    ("tools", "place"),
    [
        ([crate("mcp"), {"description": "x"}], "tools[1]"),
        ([{"function": {"name": 5}}, crate("mcp")], "tools[0]"),
        ([crate("anthropic"), {"name": 5}], "tools[1].name"),
        ([crate("mcp"), {"name": "a", "definition": 5}], "tools[1].definition"),
        ([crate("mcp"), BUILTIN, {"name": "a", "annotations": 5}], "tools[2].annotations"),
        ([{"functionDeclarations": 5}, crate("gemini")], "tools[0].functionDeclarations"),
        ({"result": {"tools": [5, crate("mcp")]}}, "tools.result.tools[0]"),
    ],
)
def test_what_is_no_tool_in_any_shape_is_named(server: Server, tools: Any, place: str):
    answer = server.search("pack goods", tools, explain=True).json()
    assert answer["selected_names"] == ["crate_up"]
    assert f"{place} (" in answer["notes"][0]


@pytest.mark.parametrize(
    ("tools", "path"),
    [
        ([crate("mcp"), {"name": "a", "tags": [5]}], "tools[1].tags[0]"),
        ({"result": {"tools": [{"name": "a", "risk": 5}]}}, "tools.result.tools[0].risk"),
        ({"nothing": []}, "tools"),
        ({"tools": {"tools": {"tools": {"tools": []}}}}, "tools.tools.tools.tools"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(server: Server, tools: Any, path: str):
    body = {"pattern": "x", "tools": tools}
    problem = problem_of(server.post(body, SEARCH), 422, "invalid_request")
    assert [error["path"] for error in problem["errors"]] == [path]


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


# Every provider's tool shape is read: names, descriptions and properties, nested ones too.


def test_deeply_nested_properties_are_found(server: Server):
    schema: dict = {"properties": {"kernel": {"description": "innermost"}}}
    for level in range(40):
        schema = {"properties": {f"level{level}": schema}}
    tool = {"name": "nest", "definition": {"input_schema": schema}}
    assert server.names("innermost kernel", [*TOOLS, tool], ranker="bm25") == ["nest"]


def test_a_very_long_alias_is_no_error(server: Server):
    tool = {"name": "odd_one", "definition": {"name": "word " * 70_000}}
    assert server.names("odd_one", [*TOOLS, tool])[0] == "odd_one"
    assert server.names("read a file", [*TOOLS, tool])[0] == "read_file"
