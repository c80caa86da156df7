"""The MCP facade by the specification: error codes and pages."""

from collections.abc import Iterator
from typing import Any

import pytest
from mcp.client.client import ConnectMode
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND

from tests.contract.mcp_client import HEADERS, session
from tests.in_process import serving
from tests.support import TOOLS, Server

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
CATALOGS = 130


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("many"), mcp=True) as started:
        for number in range(CATALOGS):
            body = {"tools": TOOLS[:1]}
            started.client.put(f"/v1/catalogs/home-{number:03}", json=body).raise_for_status()
        yield started


def ask(server: Server, method: str, revision: str = "2025-11-25", **params: Any) -> Any:
    """Return the answer to a message as it is written, and its status."""
    is_modern = revision > "2026"
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method}
    meta = {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body["params"] = params | ({"_meta": meta} if is_modern else {})
    headers = HEADERS | {"mcp-protocol-version": revision}
    if is_modern:
        headers["mcp-method"] = method
        named = params.get("name") or params.get("uri")
        headers |= {"mcp-name": named} if named else {}
    answer = server.post(body, "/mcp", headers)
    return answer.status_code, answer.json()


@pytest.mark.parametrize(("revision", "status"), [("2025-11-25", 200), ("2026-07-28", 404)])
def test_an_unknown_method_is_named_so(facade: Server, revision: str, status: int):
    got, answer = ask(facade, "tools/run", revision)
    assert (got, answer["error"]["code"]) == (status, METHOD_NOT_FOUND)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "run_tool"}),
        ("tools/call", {"name": "search_tools", "arguments": "pay"}),
        ("tools/call", {"name": "search_tools", "arguments": [5]}),
        ("prompts/get", {"name": "find_tool"}),
        ("prompts/get", {"name": "unheard-of"}),
        ("tools/list", {"cursor": "next"}),
        ("prompts/list", {"cursor": "next"}),
        ("resources/templates/list", {"cursor": "next"}),
        ("resources/list", {"cursor": "next"}),
        ("resources/list", {"cursor": "ö"}),
    ],
)
@pytest.mark.parametrize(("revision", "status"), [("2025-11-25", 200), ("2026-07-28", 400)])
def test_invalid_parameters_are_named_so(
    facade: Server, method: str, params: dict[str, Any], revision: str, status: int
):
    got, answer = ask(facade, method, revision, **params)
    assert (got, answer["error"]["code"]) == (status, INVALID_PARAMS)


@pytest.mark.parametrize(
    ("revision", "code"), [("2025-06-18", -32002), ("2025-11-25", -32002), ("2026-07-28", -32602)]
)
@pytest.mark.parametrize(
    "uri",
    [
        "toolscout://nowhere/overview",
        "toolscout://office/tool/pay_invoise",
        "toolscout://office/tool/",
        "toolscout://office/manual",
        "toolscout://office",
        "file:///etc/passwd",
        "office/overview",
    ],
)
def test_an_unknown_resource_has_the_code_of_its_revision(
    facade: Server, revision: str, code: int, uri: str
):
    _, answer = ask(facade, "resources/read", revision, uri=uri)
    assert answer["error"]["code"] == code
    assert answer["error"]["data"] == {"uri": uri}


def test_an_unknown_tool_of_a_catalog_brings_similar_names(facade: Server):
    _, answer = ask(facade, "resources/read", uri="toolscout://office/tool/pay_invoise")
    assert "pay_invoice" in answer["error"]["message"]


def test_an_unknown_revision_is_told_those_that_are_spoken(facade: Server):
    status, answer = ask(facade, "tools/list", "2199-01-01")
    assert status == 400
    assert "2026-07-28" in answer["error"]["data"]["supported"]


@MODES
async def test_a_long_list_of_catalogs_comes_in_pages(many: Server, mode: ConnectMode):
    async with session(many, mode=mode) as client:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
    assert second.next_cursor is None
    uris = [resource.uri for page in (first, second) for resource in page.resources]
    assert len(first.resources) == 200
    assert len(set(uris)) == len(uris) == 2 * CATALOGS


async def test_a_page_follows_a_name_even_if_it_is_gone(many: Server):
    async with session(many) as client:
        first = await client.list_resources()
        last = first.resources[-1].uri.split("/")[2]
        many.client.delete(f"/v1/catalogs/{last}").raise_for_status()
        second = await client.list_resources(cursor=first.next_cursor)
    body = {"tools": TOOLS[:1]}
    many.client.put(f"/v1/catalogs/{last}", json=body).raise_for_status()
    assert second.resources[0].uri.split("/")[2] > last


async def test_what_only_a_release_changes_may_be_kept(facade: Server):
    async with session(facade, mode="2026-07-28") as client:
        tools, resources = await client.list_tools(), await client.list_resources()
    assert (tools.cache_scope, tools.ttl_ms > 0) == ("public", True)
    assert (resources.cache_scope, resources.ttl_ms) == ("private", 0)
