"""Fields that are none of ours are named; one that looks misspelt is refused."""

from typing import Any

import pytest

from tests.contract.learning import FEEDBACK, WORKED
from tests.support import GATEWAY, SEARCH, TOOLS, Server, problem_of

BELOW = "/v1/tool-discovery/"
ASK = {"pattern": "read a file", "tools": TOOLS}
OTHERS = {"model": "gpt", "top_p": 1, "temperature": 0, "stream": False, "user": "u", "n": 1}


@pytest.mark.parametrize(
    ("field", "near"),
    [
        ("topk", "top_k"),
        ("topK", "top_k"),
        ("filter", "filters"),
        ("alwayskeep", "always_keep"),
        ("Pattern", "pattern"),
        ("patern", "pattern"),
        ("tool", "tools"),
        ("rankers", "ranker"),
        ("turns", "turn"),
        ("message", "messages"),
        ("min_scores", "min_score"),
    ],
)
def test_a_misspelt_field_is_refused_with_the_nearest(server: Server, field: str, near: str):
    problem = problem_of(server.post(ASK | {field: 1}), 422, "invalid_request")
    (error,) = problem["errors"]
    assert (error["path"], near in error["message"]) == (field, True)
    known = problem_of(server.post(ASK | {field: 1}), 422, "invalid_request")
    assert known["errors"] == problem["errors"]  # also where the tools are known by their bytes


@pytest.mark.parametrize("field", ["model", "top_p", "top", "k", "temperature", "limit", "user"])
def test_any_other_field_is_ignored_and_named(server: Server, field: str):
    before = server.metric("toolscout_ignored_fields_total")
    answer = server.search(explain=True, **{field: 1})
    assert answer.status_code == 200
    assert answer.headers["x-tool-selection"].endswith(f"; ignored={field}")
    assert f"ignored: {field}" in answer.json()["notes"]
    assert server.metric("toolscout_ignored_fields_total") == before + 1
    assert "ignored" not in server.search().headers["x-tool-selection"]


def test_odd_and_many_names_are_counted(server: Server):
    odd: dict[str, Any] = {"a b; ignored=x": 1, "日本": 2, "x" * 99: 3}
    answer = server.search(**odd, **{f"other_{number}": 1 for number in range(10)})
    named = answer.headers["x-tool-selection"].rpartition("ignored=")[2].split(",")
    assert named == [*(f"other_{number}" for number in range(8)), "+5"]


@pytest.mark.parametrize("fields", [{"query": "read a file"}, {"query": "x", "max_tools": 2}])
@pytest.mark.parametrize("path", [SEARCH, GATEWAY])
def test_the_newer_contract_may_have_any_other_field(server: Server, path: str, fields: dict):
    answer = server.post({"tools": TOOLS, "tool_k": 2, "sources": "proxy"} | fields, path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-tool-selection"].endswith("; ignored=tool_k,sources")


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        (GATEWAY, {"query": "read a file", "max_tools": 2}),
        (GATEWAY, {"pattern": "read a file", "top_k": 2}),
        (SEARCH, {"query": "read a file", "max_tools": 2}),
    ],
)
def test_fields_of_the_newer_contract_that_are_not_used_are_no_mistake(
    server: Server, path: str, asked: dict[str, Any]
):
    before = server.metric("toolscout_ignored_fields_total")
    body = {"tools": TOOLS, "compression_model_name": "m", "source": "proxy", "explain": True}
    answer = server.post(body | asked, path)
    assert "ignored" not in answer.headers["x-tool-selection"]
    assert answer.json()["notes"] == []
    assert server.metric("toolscout_ignored_fields_total") == before
    named = server.post(body | asked | {"model": "gpt"}, path)
    assert named.headers["x-tool-selection"].endswith("; ignored=model")
    assert server.metric("toolscout_ignored_fields_total") == before + 1


def test_the_newer_path_takes_the_older_fields_with_any_other(server: Server):
    assert server.post(ASK | {"topk": 1}, GATEWAY).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", BELOW + "search:batch", {"patterns": ["x"], "tools": TOOLS}, "top-k"),
        ("POST", BELOW + "resolve", {"names": ["x"], "tools": TOOLS}, "name"),
        ("POST", BELOW + "filter", {"query": "x", "tools": TOOLS}, "max_tool"),
        ("POST", BELOW + "hot", {"message": "x", "tools": TOOLS}, "tokenbudget"),
        ("POST", FEEDBACK, WORKED, "duration"),
        ("POST", FEEDBACK, WORKED, "sesion"),
        ("PUT", "/v1/catalogs/misspelt", {"tools": TOOLS}, "ttls"),
        ("PATCH", "/v1/catalogs/misspelt", {"upsert": TOOLS}, "removed"),
    ],
)
def test_every_call_refuses_a_misspelt_field(
    server: Server, method: str, path: str, body: dict[str, Any], field: str
):
    if field == "duration":  # three letters short is another word
        assert server.post(body | {field: 1}, path).status_code == 202
        return
    sent = server.client.request(method, path, json=body | {field: 1})
    assert problem_of(sent, 422, "invalid_request")["errors"][0]["path"] == field


def test_names_of_pins_that_no_tool_has_are_noted(server: Server):
    pins = ["read_file", "nope", *(f"gone_{number}" for number in range(12))]
    body = server.search(always_keep=pins, explain=True).json()
    assert body["notes"][0].startswith("always_keep: no tool has the name 'nope', 'gone_0'")
    assert body["notes"][0].endswith("and 3 more")
    cold = [*TOOLS, {"name": "cornice", "description": "Seen once"}]
    body = server.search(
        "file", cold, always_keep=pins[:2], explain=True, latency_budget_ms=1
    ).json()
    assert any("'nope'" in note for note in body["notes"])


@pytest.mark.parametrize("tools", [b"[]", b"[ \n]"])
def test_no_tools_beside_a_catalog_are_a_mistake(server: Server, tools: bytes):
    digest = b"0" * 64
    sent = server.post(b'{"pattern":"x","tools":%s,"catalog":"%s"}' % (tools, digest))
    assert problem_of(sent, 422, "invalid_request")["errors"][0]["path"] == "tools"
    assert server.post({"pattern": "x", "tools": []}).status_code == 200


def test_a_name_that_nothing_is_registered_under_gets_an_error_about_names(server: Server):
    named = problem_of(server.post({"pattern": "x", "catalog": "office"}), 404, "catalog_unknown")
    assert "under this name" in named["detail"]
    by_digest = {"pattern": "x", "catalog": "0" * 64}
    assert "send the tools" in problem_of(server.post(by_digest), 404, "catalog_unknown")["detail"]


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("/v1/tool-discovery/serch", ["/v1/tool-discovery/search"]),
        ("/v1/tools-discovery/search", ["/v1/tool-discovery/search"]),
        ("/tool-discovery/search", ["/v1/tool-discovery/search"]),
        ("/api/compress/tool_discovery", ["/api/compress/tool-discovery"]),
        ("/v1/catalog/office/tools", ["/v1/catalogs/{id}/tools"]),
        ("/helthz", ["/healthz"]),
        ("/wp-login.php", None),
        ("/" + "x" * 4_000, None),
    ],
)
def test_a_misspelt_path_gets_the_nearest_one(server: Server, path: str, near: list[str] | None):
    assert problem_of(server.get(path), 404, "not_found").get("suggestions") == near


@pytest.mark.parametrize("wrong", ["sucess", "succes", "Success"])
def test_a_misspelling_is_named_also_where_a_required_field_is_missing(server: Server, wrong: str):
    body = {"pattern": WORKED["pattern"], "tool": WORKED["tool"], wrong: True}
    problem = problem_of(server.post(body, FEEDBACK), 422, "invalid_request")
    assert problem["errors"][0]["path"] == wrong
    assert "did you mean success?" in problem["detail"]
