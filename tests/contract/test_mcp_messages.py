"""Messages to the MCP facade: what is refused, logged and counted."""

import json
from typing import Any

import pytest
from mcp.client.client import ConnectMode
from mcp.shared.exceptions import MCPError

from tests.conftest import ACME_OLD
from tests.contract.mcp_client import HEADERS, call, failure, session
from tests.in_process import serving
from tests.support import TOOLS, Server, problem_of, running, until

pytestmark = pytest.mark.anyio

HANDSHAKE_REVISIONS = ("2025-06-18", "2025-11-25")
HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "page", "version": "1"},
    },
}


def test_a_key_is_needed(facade: Server):
    problem_of(facade.post({}, "/mcp"), 401, "unauthorized")


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_accepted_may_stand_in_several_headers(facade: Server, order: int):
    accepted = [("accept", kind) for kind in ("application/json", "text/event-stream")][::order]
    key = ("authorization", f"Bearer {ACME_OLD}")
    response = facade.client.post("/mcp", json=HELLO, headers=[key, *accepted])
    assert response.status_code == 200


def test_errors_are_problem_documents(tmp_path_factory: pytest.TempPathFactory):
    with serving(tmp_path_factory.mktemp("tight"), mcp=True, max_body_bytes=4_096) as server:
        problem_of(server.post(b"x" * 5_000, "/mcp"), 413, "payload_too_large")
        chunked = server.client.post(
            "/mcp",
            content=(b"x" * 1_000 for _ in range(5)),
            headers={"content-type": "application/json"},
        )
        problem_of(chunked, 413, "payload_too_large")
        text = server.post(b"{}", "/mcp", {"content-type": "text/plain"})
        problem_of(text, 415, "unsupported_media_type")
        problem_of(server.client.put("/mcp"), 405, "method_not_allowed")


async def test_calls_are_logged_like_any_other_and_the_sdk_writes_no_lines(
    tmp_path_factory: pytest.TempPathFactory,
):
    with running(tmp_path_factory.mktemp("logged"), "--mcp") as server:
        banner = server.stderr
        async with session(server) as client:
            await failure(client, "tool_info", name="nothing_like_it")
            for wrong in (client.call_tool("run_tool"), client.get_prompt("unheard-of")):
                with pytest.raises(MCPError):
                    await wrong
        accept = {"accept": "application/json, text/event-stream"}
        for body in (b"not json", b"{}", b"[]"):
            assert server.post(body, "/mcp", accept).status_code == 400
        assert server.stderr == banner
        until(lambda: server.stdout.count('"event":"mcp"') >= 6)
        lines = [json.loads(line) for line in server.stdout.splitlines()]
        assert {line["event"] for line in lines} == {"start", "ready", "mcp"}
        assert lines[-1]["status"] == 400


async def test_a_search_is_counted_and_logged_like_one_over_http(
    tmp_path_factory: pytest.TempPathFactory,
):
    with serving(tmp_path_factory.mktemp("counted"), mcp=True) as server:
        put = server.client.put("/v1/catalogs/office", json={"tools": TOOLS})
        until(lambda: server.metric("toolscout_catalog_cache_entries") == 1)
        async with session(server, ACME_OLD) as client:
            await call(client, "search_tools", query="read a text file", top_k=3)
            await call(client, "tool_info", name="read_file")
        assert server.metric('toolscout_requests_total{outcome="match"}') == 1
        assert server.metric('toolscout_request_duration_seconds_count{phase="rank"}') == 1
        assert server.metric('toolscout_catalog_cache_requests_total{result="hit"}') == 1
        assert server.metric('toolscout_calls_total{call="mcp",outcome="ok"}') >= 2
        stats = server.get("/v1/stats").json()
        assert (stats["searches"], stats["outcomes"]) == (1, {"match": 1})
        until(lambda: '"ranker"' in server.stdout)
        (line,) = (line for line in server.stdout.splitlines() if '"ranker"' in line)
        logged = json.loads(line)
        assert (logged["event"], logged["outcome"], logged["ranker"]) == ("mcp", "match", "hybrid")
        assert logged["catalog"] == put.json()["digest"][:16]
        assert (logged["offered"], logged["top_k"]) == (len(TOOLS), 3)
        assert "read a text file" not in server.stdout


def test_an_answer_of_the_sdk_carries_the_request_id(facade: Server):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    response = facade.post(body, "/mcp", HEADERS | {"x-request-id": "of-mcp"})
    assert (response.status_code, response.headers["x-request-id"]) == (200, "of-mcp")


def test_a_page_in_a_browser_cannot_ask_a_service_without_keys(
    tmp_path_factory: pytest.TempPathFactory,
):
    accept = {"accept": "application/json, text/event-stream"}
    with serving(tmp_path_factory.mktemp("open"), mcp=True) as server:
        assert server.post(HELLO, "/mcp", accept).status_code == 200
        for foreign in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
            assert server.post(HELLO, "/mcp", accept | foreign).status_code in (403, 421)


def test_it_is_off_unless_asked_for(server: Server):
    problem_of(server.post({}, "/mcp"), 404, "not_found")


def test_there_is_no_stream_to_hold_open(facade: Server):
    for method in ("GET", "DELETE"):
        response = facade.client.request(method, "/mcp", headers=HEADERS)
        problem_of(response, 405, "method_not_allowed")
        assert response.headers["allow"] == "POST"


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":' + b"[" * 500 + b"]" * 500 + b"}",
        b'{"a":' * 20_000,
        b"{",
        b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
    ],
    ids=["no UTF-8", "deep", "very deep", "cut off", "half a character"],
)
def test_messages_that_are_no_json_are_refused_and_logged_so(facade: Server, body: bytes):
    response = facade.post(body, "/mcp", HEADERS)
    problem_of(response, 400, "invalid_json")
    identity = response.headers["x-request-id"]
    until(lambda: identity in facade.stdout)
    (line,) = (line for line in facade.stdout.splitlines() if identity in line)
    assert json.loads(line)["outcome"] == "invalid_json"


def test_messages_are_small(facade: Server):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"a": "b" * 300_000}}
    problem_of(facade.post(body, "/mcp", HEADERS), 413, "payload_too_large")


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_what_a_caller_sends_is_on_no_stream(facade: Server, revision: str):
    secret = "payroll of Jane"
    meta = {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientInfo": {"name": secret, "version": secret},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    spoken = HEADERS | {"mcp-protocol-version": revision}
    for method, params in (
        ("tools/call", {"arguments": {"query": secret}}),
        ("tools/call", {"name": secret, "arguments": {"query": secret}}),
        ("tools/call", {"name": "search_tools", "arguments": {"query": [secret]}}),
        ("tools/call", {"name": "search_tools", "arguments": {"query": secret}}),
        ("prompts/get", {"name": "find_tool", "arguments": {"task": secret}}),
        ("prompts/get", {"name": secret}),
        ("resources/read", {"uri": f"toolscout://office/tool/{secret}"}),
        ("resources/list", {"cursor": secret}),
        (secret, {}),
    ):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}
        routing = {"mcp-method": method, "mcp-name": params.get("name", params.get("uri", ""))}
        facade.post(message, "/mcp", spoken | routing)
        facade.post(message | {"id": secret}, "/mcp", spoken)
    identity = f"bad-message-{revision}"
    headers = spoken | {"x-request-id": identity}
    assert facade.post({"jsonrpc": secret, "id": 1}, "/mcp", headers).status_code == 400
    until(lambda: identity in facade.stdout)
    (line,) = (line for line in facade.stdout.splitlines() if identity in line)
    assert json.loads(line)["outcome"] == "invalid_request"
    assert secret not in facade.stdout


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
async def test_the_newest_client_finds_a_tool_with_and_without_a_handshake(
    facade: Server, mode: ConnectMode
):
    async with session(facade, mode=mode) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        found = await call(client, "search_tools", query="pay the bill", top_k=1)
        assert [tool["name"] for tool in found["tools"]] == ["pay_invoice"]


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_a_client_of_an_older_revision_keeps_it(facade: Server, revision: str):
    hello = HELLO | {"params": HELLO["params"] | {"protocolVersion": revision}}
    answer = facade.post(hello, "/mcp", HEADERS)
    assert answer.json()["result"]["protocolVersion"] == revision
    assert "mcp-session-id" not in answer.headers
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    answer = facade.post(listing, "/mcp", HEADERS | {"mcp-protocol-version": revision})
    assert len(answer.json()["result"]["tools"]) == 5
