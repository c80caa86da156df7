"""The newer contract of the same proxy, on its own path and on the older one."""

import pytest

from tests.catalogs import SHAPES, in_shape
from tests.support import GATEWAY, SEARCH, TOOLS, Server, problem_of

ASK = {"query": "read a file", "max_tools": 2, "tools": TOOLS}


@pytest.mark.parametrize("path", [GATEWAY, GATEWAY.rstrip("/"), SEARCH])
def test_newer_fields_get_the_superset_on_either_path(server: Server, path: str):
    response = server.post(ASK, path)
    assert response.status_code == 200
    body = response.json()
    assert set(body) == {"success", "data", "selected_names"}
    assert body["success"] is True
    assert body["data"] == {"relevant_tools": body["selected_names"]}
    assert body["selected_names"] == server.names("read a file", top_k=2)


@pytest.mark.parametrize("path", [GATEWAY, GATEWAY.rstrip("/")])
def test_older_fields_get_the_superset_on_the_newer_path(server: Server, path: str):
    body = server.post({"pattern": "read a file", "top_k": 2, "tools": TOOLS}, path).json()
    assert body["success"] is True
    assert body["data"]["relevant_tools"] == body["selected_names"]


@pytest.mark.parametrize("field", ["query", "max_tools"])
def test_one_newer_field_is_enough(server: Server, field: str):
    fields = {"pattern": "read a file", "tools": TOOLS, "max_tools": 2}
    if field == "query":
        fields = {"query": "read a file", "tools": TOOLS, "top_k": 2}
    assert server.post(fields).json()["success"] is True


@pytest.mark.parametrize("path", [GATEWAY, SEARCH])
@pytest.mark.parametrize("extra", [{"pattern": "x"}, {"top_k": 3}])
def test_both_names_of_one_field_are_refused(server: Server, path: str, extra: dict):
    body = problem_of(server.post(ASK | extra, path), 422, "invalid_request")
    assert body["success"] is False


def test_null_beside_the_other_name_is_as_absent(server: Server):
    assert server.post(ASK | {"pattern": None, "top_k": None}).status_code == 200


@pytest.mark.parametrize("shape", SHAPES)
def test_parameters_hold_a_schema_or_a_whole_definition(server: Server, shape: str):
    schema = {"properties": {"zipcode": {"type": "string"}}}
    tool = {"name": "ship", "description": "x", "parameters": in_shape(shape, "ship", "x", schema)}
    body = server.post({"query": "zipcode", "tools": [*TOOLS, tool]}, GATEWAY).json()
    assert body["selected_names"][0] == "ship"


def test_model_and_source_are_ignored(server: Server):
    extra = {"compression_model_name": "some-model", "source": "gateway:openai"}
    assert server.post(ASK | extra, GATEWAY).content == server.post(ASK, GATEWAY).content


def test_query_may_be_a_whole_message(server: Server):
    message = (
        "Hi there!\n\nI'm planning a trip. Could you tell me what the *weather* in the city of "
        "Oslo will be like next week? The forecast decides what I pack. Thanks!"
    )
    body = server.post({"query": message, "tools": TOOLS}, GATEWAY).json()
    assert body["selected_names"][0] == "get_weather"


def test_no_match_is_a_success_without_names(server: Server):
    body = server.post({"query": "zxqv wvut", "tools": TOOLS}, GATEWAY).json()
    assert body == {"success": True, "data": {"relevant_tools": []}, "selected_names": []}


def test_explain_comes_beside_the_superset(server: Server):
    body = server.post(ASK | {"explain": True}, GATEWAY).json()
    assert body["success"] is True
    assert [match["name"] for match in body["matches"]] == body["selected_names"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "invalid_json"),
        ({"query": " ", "tools": []}, 422, "empty_pattern"),
        ({"tools": []}, 422, "invalid_request"),
        ({"query": "x"}, 422, "invalid_request"),
        ({"query": "x", "max_tools": 0, "tools": []}, 422, "invalid_request"),
        ({"query": "x", "tools": {}}, 422, "invalid_request"),
        ({"query": "x", "catalog": "0" * 64}, 404, "catalog_unknown"),
    ],
)
def test_failures_say_so_in_both_ways(server: Server, body: object, status: int, code: str):
    problem = problem_of(server.post(body, GATEWAY), status, code)
    assert problem["success"] is False
    assert problem["error"]


@pytest.mark.parametrize("body", [{"query": "", "tools": []}, {"query": "x", "tools": {}}])
def test_newer_fields_get_newer_errors_on_the_older_path(server: Server, body: dict):
    response = server.post(body)
    assert response.status_code == 422
    assert response.json()["success"] is False


def test_older_fields_get_plain_errors_on_the_older_path(server: Server):
    body = problem_of(server.post({"pattern": "", "tools": []}), 422, "empty_pattern")
    assert "success" not in body
    assert "error" not in body


def test_errors_before_the_body_are_newer_on_the_newer_path(keyed: Server, server: Server):
    assert problem_of(keyed.post(ASK, GATEWAY), 401, "unauthorized")["success"] is False
    response = server.client.get(GATEWAY)
    assert problem_of(response, 405, "method_not_allowed")["success"] is False
