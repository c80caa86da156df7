"""Errors are short RFC 9457 documents from one table, and repeat nothing of the request."""

import re
from urllib.parse import urljoin

import pytest

from tests.support import GATEWAY, SEARCH, TOOLS, Server, crowd, problem_of
from toolscout.server.http.problems import CODES

SECRET = "xyzzysecret"

STATUSES = {
    "invalid_json": 400,
    "bad_cursor": 400,
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "catalog_unknown": 404,
    "method_not_allowed": 405,
    "body_timeout": 408,
    "precondition_failed": 412,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "misdirected": 421,
    "invalid_request": 422,
    "empty_pattern": 422,
    "too_many_tools": 422,
    "catalog_too_large_for": 422,
    "rate_limited": 429,
    "headers_too_large": 431,
    "internal_error": 500,
    "overloaded": 503,
    "store_unavailable": 503,
    "worker_unavailable": 503,
    "draining": 503,
}


def test_every_code_has_the_status_of_the_contract():
    assert {code: kind.status for code, kind in CODES.items()}.items() <= STATUSES.items()


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "invalid_json"),
        (b"{", 400, "invalid_json"),
        ({"pattern": "", "tools": []}, 422, "empty_pattern"),
        ({"pattern": " \t\n\u3000", "tools": []}, 422, "empty_pattern"),
        ({"tools": []}, 422, "invalid_request"),
        ({"pattern": None, "tools": []}, 422, "invalid_request"),
        ({"pattern": "x"}, 422, "invalid_request"),
        ({"pattern": "x", "tools": None}, 422, "invalid_request"),
        ({"pattern": "x", "tools": {}}, 422, "invalid_request"),
        ({"pattern": "x", "tools": "read_file"}, 422, "invalid_request"),
        ({"pattern": "x", "tools": [{"name": "a", "risk": "some"}]}, 422, "invalid_request"),
        ({"pattern": "x", "tools": [], "top_k": 0}, 422, "invalid_request"),
        ({"pattern": "x", "tools": [], "top_k": -1}, 422, "invalid_request"),
        ({"pattern": "x", "tools": [], "ranker": "best"}, 422, "invalid_request"),
        ({"pattern": "x", "tools": [], "latency_budget_ms": 0}, 422, "invalid_request"),
        ({"pattern": "x", "tools": [], "latency_budget_ms": 60_001}, 422, "invalid_request"),
        ({"pattern": "x", "catalog": "f" * 64}, 404, "catalog_unknown"),
    ],
)
def test_bad_requests_are_named(server: Server, body: object, status: int, code: str):
    problem_of(server.post(body), status, code)


def test_ten_thousand_and_one_tools_are_too_many(server: Server):
    body = problem_of(server.search(tools=crowd(10_001)), 422, "too_many_tools")
    assert body["detail"].endswith("max_tools (TOOLSCOUT_MAX_TOOLS) raises it")
    assert "10001" in body["detail"].replace(",", "")
    assert "max_tools" in body["detail"]
    assert "10000" in body["detail"].replace(",", "")


def test_the_limit_of_tools_counts_distinct_names(small: Server):
    assert small.search(tools=TOOLS[:5] * 3).status_code == 200
    problem_of(small.search(tools=TOOLS[:6]), 422, "too_many_tools")


def test_a_body_over_the_limit_is_too_large(small: Server):
    body = problem_of(small.search("x" * 5_000), 413, "payload_too_large")
    assert "4096" in body["detail"].replace(",", "")


@pytest.mark.parametrize("path", ["/v1", "/v1/tool-discovery", "/nothing/here", SEARCH + "x"])
def test_other_paths_are_not_found(server: Server, path: str):
    problem_of(server.client.post(path, content=b"{}"), 404, "not_found")


@pytest.mark.parametrize(
    ("field", "choices"),
    [
        ("ranker", "auto, regex, bm25, semantic, hybrid, rrf, okapi"),
        ("detail", "names, brief, full, stub, stub_python"),
        ("filters.max_risk", "read_only, write_local, write_remote, destructive"),
    ],
)
def test_a_value_that_is_no_choice_is_answered_with_the_choices(
    server: Server, field: str, choices: str
):
    outer, _, inner = field.partition(".")
    response = server.search("x", **{outer: {inner: SECRET} if inner else SECRET})
    (error,) = problem_of(response, 422, "invalid_request")["errors"]
    assert error == {"path": field, "message": f"expected one of {choices}"}


def test_a_misspelt_choice_is_repeated(server: Server):
    (error,) = problem_of(server.search("x", ranker="hybird"), 422, "invalid_request")["errors"]
    assert error["message"].endswith('okapi; got "hybird"')


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"top_k": "five"}, "top_k: expected a number, got text"),
        ({"top_k": 0}, "top_k: expected at least 1"),
        ({"top_k": 1.5}, "top_k: expected a whole number"),
        ({"explain": 1}, "explain: expected true or false, got a whole number"),
        ({"always_keep": {}}, "always_keep: expected a list, got an object"),
        (
            {"context": {"signals": ["x" * 201]}},
            "context.signals[0]: expected at most 200 characters",
        ),
        ({"session": {"recent": [{}]}}, "session.recent[0]: `name` is missing"),
    ],
)
def test_what_is_wrong_is_said_in_words(server: Server, fields: dict[str, object], message: str):
    assert problem_of(server.search("x", **fields), 422, "invalid_request")["detail"] == message


@pytest.mark.parametrize("path", [SEARCH, GATEWAY])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_other_methods_are_refused(server: Server, method: str, path: str):
    response = server.client.request(method, path)
    problem_of(response, 405, "method_not_allowed")
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/openapi.json"])
def test_probes_are_only_read(server: Server, path: str):
    response = server.client.post(path, content=b"{}")
    problem_of(response, 405, "method_not_allowed")
    assert "GET" in response.headers["allow"]


def test_the_title_belongs_to_the_code(server: Server):
    first = problem_of(server.search(top_k=0), 422, "invalid_request")
    second = problem_of(server.search(tools={}), 422, "invalid_request")
    assert first["title"] == second["title"]
    assert first["detail"] != second["detail"]


def echoing() -> list[object]:
    """Bodies that are wrong at or near a secret."""
    tool = {"name": SECRET, "description": SECRET}
    bodies: list[object] = [
        {"pattern": "x", "tools": [tool | {field: SECRET}]}
        for field in ("tags", "risk", "status", "keywords", "required_keys")
    ]
    bodies += [{"pattern": "x", "tools": [tool | {"tags": [[SECRET]]}]}]
    bodies += [{"pattern": "x", "tools": [tool, tool | {"risk": SECRET}]}]
    bodies += [{"pattern": "x", "tools": SECRET}, {"pattern": SECRET}]
    bodies += [{"pattern": SECRET, "tools": [tool], "top_k": 0}]
    bodies += [{"pattern": "x", "tools": [tool], field: SECRET} for field in ("ranker", "explain")]
    bodies += [{"pattern": "x", "tools": [tool], "always_keep": {SECRET: SECRET}}]
    bodies += [{"pattern": "x", "catalog": SECRET}]
    nested = b'{"pattern":"x","tools":[{"name":"%s","definition":{"%s":"%s" "%s"}}]}'
    return [*bodies, nested.replace(b"%s", SECRET.encode()), b'{"%s' % SECRET.encode()]


@pytest.mark.parametrize("path", [SEARCH, GATEWAY])
def test_no_error_repeats_the_request(server: Server, path: str):
    for body in echoing():
        response = server.post(body, path)
        assert 400 <= response.status_code < 500
        assert SECRET not in response.text
        assert len(response.content) <= 2_048


def test_the_type_of_an_error_is_its_place_on_a_page_of_the_service(server: Server):
    response = server.search(top_k=0)
    page, _, anchor = problem_of(response, 422, "invalid_request")["type"].partition("#")
    assert urljoin(str(response.url), page) == f"{server.url}/docs/errors"
    assert anchor == "invalid_request"


def test_the_page_of_errors_has_every_code_and_needs_no_other_host(server: Server):
    page = server.get("/docs/errors")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert re.findall(r'<section id="(\w+)">', page.text) == list(CODES)
    for kind in CODES.values():
        assert f"{kind.status}" in page.text
        assert kind.title in page.text
    assert "//" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "script" not in page.text
    assert re.findall('href="([.].*?)"', page.text) == ["../", "../docs"]


def test_long_request_ids_keep_errors_short(server: Server):
    headers = {"x-request-id": '"' * 5_000}
    response = server.post(b"{", GATEWAY, headers)
    assert len(response.content) <= 2_048
    assert response.json()["request_id"] == response.headers["x-request-id"]
