"""The search call: fields, defaults, and the shape of its answer."""

import json

import pytest

from tests.support import SEARCH, TOOLS, Server, crowd


def test_answer_is_exactly_the_selected_names(server: Server):
    response = server.post({"pattern": "read a file", "top_k": 1, "tools": TOOLS})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.content == b'{"selected_names":["read_file"]}'


def test_five_names_at_most_unless_told(server: Server):
    tools = crowd(20)
    assert len(server.names("spin the gadget around its axis", tools)) == 5


@pytest.mark.parametrize("top_k", [1, 2, 7])
def test_top_k_caps_the_answer(server: Server, top_k: int):
    assert len(server.names("spin the gadget", crowd(20), top_k=top_k)) == top_k


def test_top_k_may_exceed_the_number_of_tools(server: Server):
    names = server.names("spin the gadget", crowd(3), top_k=1_000_000)
    assert sorted(names) == sorted(tool["name"] for tool in crowd(3))


@pytest.mark.parametrize("pins", [[], ["get_weather"]])
def test_no_tools_no_names(server: Server, pins: list[str]):
    assert server.names("anything", [], always_keep=pins) == []


@pytest.mark.parametrize(
    "field", ["top_k", "max_tools", "query", "always_keep", "ranker", "explain", "catalog"]
)
def test_null_equals_absent(server: Server, field: str):
    assert server.search(**{field: None}).content == server.search().content


def test_null_budget_equals_absent(server: Server):
    body = {"pattern": "read a file", "tools": TOOLS, "latency_budget_ms": None}
    assert server.post(body).status_code == 200


def test_unknown_fields_are_ignored(server: Server):
    plain = server.search()
    odd = server.search(source="gateway", compression_model_name="m", nested={"a": [1, {}]})
    assert odd.content == plain.content


def test_unknown_fields_of_a_tool_are_ignored(server: Server):
    tools = [tool | {"cache_control": {"type": "ephemeral"}, "x": [1, None]} for tool in TOOLS]
    assert server.names(tools=tools) == server.names()


def test_integers_that_went_through_float64_are_read(server: Server):
    definition = {"input_schema": {"properties": {"limit": {"maximum": 1e21, "default": 20.0}}}}
    tools = [*TOOLS, {"name": "page_through", "definition": definition}]
    assert server.names("limit", tools)[0] == "page_through"


def test_whole_numbers_may_be_written_as_floats(server: Server):
    body = json.dumps({"pattern": "spin", "tools": crowd(9), "top_k": 2.0})
    response = server.post(body.encode())
    assert response.status_code == 200, response.text
    assert len(response.json()["selected_names"]) == 2


def test_escaped_angle_brackets_are_text(server: Server):
    body = json.dumps(
        {"pattern": "html tables", "tools": [*TOOLS, {"name": "x1", "description": "HTML <table>"}]}
    )
    escaped = body.replace("<", "\\u003c").replace(">", "\\u003e").encode()
    assert server.post(escaped).json()["selected_names"][0] == "x1"


def test_pattern_is_not_trimmed_by_the_caller(server: Server):
    assert server.names("  \n read a file\t ") == server.names("read a file")


def test_an_answer_leaves_the_connection_open(server: Server):
    response = server.post({"pattern": "x", "tools": []}, path=SEARCH)
    assert response.headers.get("connection", "keep-alive") == "keep-alive"
