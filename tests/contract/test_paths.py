"""Paths mean what they say to the letter: slashes, methods and arguments."""

import pytest

from tests.support import TOOLS, Server, problem_of

SLASHED = ["a/b", "a//b", "a/b/", "/a/b", "a/b.c"]
CATALOG = {"tools": [*TOOLS, *({"name": name} for name in ("y", "tools.y", *SLASHED))]}


@pytest.fixture(scope="module", autouse=True)
def _catalog(server: Server):
    assert server.client.put("/v1/catalogs/tools", json=CATALOG).status_code in (200, 201)


@pytest.mark.parametrize(
    "path",
    [
        "//v1/learning",
        "/v1//stats",
        "/v1/catalogs//tools",
        "/v1/catalogs/tools/",
        "/v1/catalogs/tools/tools/",
        "/v1/catalogs/tools/index/",
        "//v1/tool-discovery/search",
        "/v1/tool-discovery//search",
        "//healthz",
        "/v1/catalogs/tools/tools//",
        "/v1/catalogs//tools/tools/y",
        "/docs//errors",
    ],
)
@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
def test_slashes_are_not_merged(server: Server, method: str, path: str):
    url = server.client.base_url.copy_with(raw_path=path.encode())
    assert server.client.request(method, url).status_code == 404


@pytest.mark.parametrize("path", ["/v1/stats", "/v1/learning", "/docs", "/docs/errors", "/healthz"])
def test_a_fixed_path_may_end_in_a_slash(server: Server, path: str):
    assert server.client.get(f"{path}/").status_code == server.client.get(path).status_code == 200


@pytest.mark.parametrize("length", [5_000, 60_000])
def test_a_path_that_names_nothing_by_its_length_is_not_looked_up(server: Server, length: int):
    response = server.client.get(f"/v1/catalogs/tools/tools/{'x' * length}")
    assert response.status_code in (404, 431)


def test_a_tool_of_a_catalog_called_tools_is_found_by_its_own_name(server: Server):
    assert server.client.get("/v1/catalogs/tools/tools/y").json()["name"] == "y"


@pytest.mark.parametrize("slash", ["/", "%2F"])
@pytest.mark.parametrize("name", SLASHED)
def test_tools_whose_names_differ_by_slashes_are_different_tools(
    server: Server, name: str, slash: str
):
    path = f"/v1/catalogs/tools/tools/{name.replace('/', slash)}"
    url = server.client.base_url.copy_with(raw_path=path.encode())
    assert server.client.get(url).json()["name"] == name


@pytest.mark.parametrize("method", ["OPTIONS", "HEAD", "POST", "TRACE"])
def test_methods_that_a_path_answers_are_listed_in_one_order(server: Server, method: str):
    response = server.client.request(method, "/v1/catalogs/tools")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, PUT, PATCH, DELETE")


def test_a_wrong_method_is_counted(server: Server):
    server.client.post("/v1/stats")
    server.client.get("/v1/tool-discovery/hot")
    lines = server.client.get("/metrics").text.splitlines()
    for call in ("stats", "hot"):
        start = f'toolscout_calls_total{{call="{call}",outcome="method_not_allowed"}}'
        assert any(line.startswith(start) for line in lines)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_change_that_wants_no_catalog_there_is_refused(server: Server, method: str):
    headers = {"if-none-match": "*"}
    body = {"json": CATALOG} if method == "PUT" else {}
    if method == "PATCH":
        body = {"json": {"remove": ["y"]}}
    response = server.client.request(method, "/v1/catalogs/tools", headers=headers, **body)
    problem_of(response, 412, "precondition_failed")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("detail=xx", "detail: expected one of names, brief, full, stub, stub_python"),
        ("page_size=x", "page_size: expected a whole number from 1 to 1000"),
        ("page_size=0", "page_size: expected a whole number from 1 to 1000"),
    ],
)
def test_a_wrong_argument_says_what_is_right(server: Server, query: str, said: str):
    response = server.client.get(f"/v1/catalogs/tools/tools?{query}")
    assert problem_of(response, 422, "invalid_request")["detail"] == said


def test_an_empty_body_is_a_broken_one(server: Server):
    headers = {"content-type": "application/json"}
    response = server.client.put("/v1/catalogs/other", content=b"", headers=headers)
    assert problem_of(response, 400, "invalid_json")["errors"][0]["path"] == "body"
