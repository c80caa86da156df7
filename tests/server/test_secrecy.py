"""Nothing that callers wrote stands in the log at its default level, whatever they call.

Every text of every request carries a mark, and every line of both streams is searched for it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support import Process, raw_request, read_response, running, until
from toolscout.server.routes.table import list_paths

KEY = "acme-secret-0123456789abcdef0123456789abcdef"
OTHER = "wrong-secret-0123456789abcdef0123456789abc"
MARK = "plugh"
BELOW = "/v1/tool-discovery/"

TOOL: dict[str, Any] = {
    "name": "plugh_tool",
    "description": "plugh description",
    "definition": {"input_schema": {"properties": {"plugh_field": {"description": "plugh"}}}},
    "tags": ["plugh-tag"],
    "keywords": ["plugh keyword"],
    "namespace": "plughspace",
    "source": "plughsource",
}
ASK: dict[str, Any] = {
    "pattern": "plugh pattern",
    "tools": [TOOL],
    "always_keep": ["plugh_tool"],
    "session": {"id": "plugh-session", "recent": [{"name": "plugh_tool", "successes": 1}]},
    "context": {"files": ["plugh.py"], "signals": ["plugh"]},
    "explain": True,
    "detail": "full",
}
TOLD = {"pattern": "plugh pattern", "tool": "plugh_tool", "success": True, "session": "plugh-s"}
CHAIN = {"intent": "plugh intent", "chain": ["plugh_tool", "plugh_more"], "success": True}
RPC: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
PROMPT = RPC | {
    "method": "prompts/get",
    "params": {"name": "find_tool", "arguments": {"task": "plugh"}},
}
LIST = "/v1/catalogs/lists"

GOOD: list[tuple[str, str, Any]] = [
    ("POST", BELOW + "search", ASK),
    ("POST", BELOW + "search", ASK | {"ranker": "regex", "pattern": "plugh.*"}),
    ("POST", BELOW + "search", ASK | {"pattern": "plugh" * 2_000}),
    ("POST", "/api/compress/tool-discovery", {"query": "plugh", "tools": [TOOL]}),
    ("POST", BELOW + "search:batch", {"patterns": ["plugh one", "two"], "tools": [TOOL]}),
    ("POST", BELOW + "resolve", {"names": ["plughTool", "plugh"], "tools": [TOOL]}),
    ("POST", BELOW + "filter", {"query": "plugh", "tools": [TOOL]}),
    ("POST", BELOW + "hot", {"message": "plugh", "tools": [TOOL], "tier0": ["plugh_tool"]}),
    ("POST", BELOW + "feedback", TOLD),
    ("POST", BELOW + "chains", CHAIN),
    ("GET", BELOW + "insights?pattern=plugh", None),
    ("PUT", LIST, {"tools": [TOOL]}),
    ("PATCH", LIST, {"upsert": [TOOL | {"name": "plugh_more"}]}),
    ("GET", LIST, None),
    ("GET", LIST + "/tools?page_size=1", None),
    ("GET", LIST + "/tools/plugh_tool?detail=full", None),
    ("POST", LIST + "/tools:batch", {"names": ["plugh_tool", "plugh_none"]}),
    ("GET", LIST + "/tools:complete?prefix=plugh", None),
    ("GET", LIST + "/index", None),
    ("GET", LIST + "/overview", None),
    ("GET", "/v1/stats", None),
    ("GET", "/v1/learning", None),
    ("POST", "/mcp", RPC | {"params": {"name": "search_tools", "arguments": {"query": "plugh"}}}),
    ("POST", "/mcp", PROMPT),
    ("DELETE", "/v1/learning", None),
    ("DELETE", LIST, None),
    ("GET", "/openapi.json", None),
    ("GET", "/docs", None),
    ("GET", "/metrics", None),
]

BAD: list[tuple[str, str, Any]] = [
    ("POST", BELOW + "search", b'{"pattern":"plugh","tools":[{"plugh'),
    ("POST", BELOW + "search", b"plugh" + b"[" * 5_000),
    ("POST", BELOW + "search", {"pattern": "plugh", "tools": [TOOL | {"risk": "plugh"}]}),
    ("POST", BELOW + "search", ASK | {"patterm": "plugh"}),
    ("POST", BELOW + "search", {"pattern": "plugh", "tools": "plugh"}),
    ("POST", BELOW + "search", {"pattern": "plugh", "catalog": "plugh"}),
    ("POST", BELOW + "search", {"pattern": "plugh", "query": "plugh", "tools": [TOOL]}),
    ("POST", BELOW + "search", ASK | {"ranker": "plugh"}),
    ("POST", BELOW + "search", ASK | {"tools": [TOOL | {"name": f"plugh{n}"} for n in range(60)]}),
    ("POST", BELOW + "search", {"pattern": "plugh" * 200_000, "tools": [TOOL]}),
    ("POST", BELOW + "feedback", {"pattern": "plugh", "tool": {"plugh": 1}}),
    ("PUT", "/v1/catalogs/plugh%20plugh", {"tools": [TOOL]}),
    ("GET", "/v1/catalogs/none/tools/plugh_tool", None),
    ("GET", BELOW + "plugh?plugh=plugh", None),
    ("PATCH", BELOW + "search", ASK),
    ("POST", "/mcp", RPC | {"params": {"name": "plugh", "arguments": {"plugh": "plugh"}}}),
    ("POST", "/mcp", b"plugh"),
]


@dataclass
class Called:
    """A service that was asked everything, and what it answered."""

    server: Process
    good: list[int]
    bad: list[int]
    strangers: list[int]


def ask(server: Process, asked: tuple[str, str, Any], **headers: str) -> int:
    method, path, body = asked
    sent = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "user-agent": "plugh-agent",
        "cookie": "plugh=plugh",
    }
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    answer = server.client.request(method, path, content=content, headers=sent | headers)
    return answer.status_code


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Called]:
    folder = tmp_path_factory.mktemp("secrecy")
    flags = ["--mcp", "--max-tools", "50", "--max-body-bytes", "500000"]
    flags += ["--caller-timeout-s", "0.3"]
    with running(folder, *flags, TOOLSCOUT_API_KEYS=f"acme={KEY}") as server:
        bearer = {"authorization": f"Bearer {KEY}"}
        strangers = [
            ask(server, asked, **headers)
            for asked in GOOD[:20]
            for headers in ({"authorization": f"Bearer {OTHER}"}, {"x-api-key": OTHER})
        ]
        good = [ask(server, asked, **bearer) for asked in GOOD]
        bad = [ask(server, asked, **bearer) for asked in BAD]
        keyed = [f"X-API-Key: {KEY}"]
        for broken in (
            raw_request(b'{"plugh', headers=[*keyed, "Content-Length: 90"]),
            raw_request(b"plugh", headers=[*keyed, "Content-Encoding: plugh"]),
            raw_request(b"plugh", headers=[*keyed, "Content-Type: text/plugh"]),
            b"PLUGH /plugh PLUGH/1.1\r\nplugh\r\n\r\n",
        ):
            with server.connect() as connection:
                connection.sendall(broken)
                bad.append(read_response(connection)[0])
        end = {"x-request-id": "the-end"}
        assert ask(server, ("GET", "/v1/stats", None), **bearer | end) == 200
        until(lambda: "the-end" in server.stdout)
        yield Called(server, good, bad, strangers)


def test_good_requests_succeed_and_bad_ones_do_not(called: Called):
    assert {status // 100 for status in called.good} == {2}
    refused = [status for status in called.bad if status != 200]
    assert {status // 100 for status in refused} == {4}
    assert len(called.bad) - len(refused) <= 1  # MCP answers a call that failed with 200
    assert set(called.strangers) == {401}


def test_every_path_of_the_service_was_asked():
    asked = {path.partition("?")[0].rstrip("/") for _, path, _ in GOOD}
    fixed = {path for path in list_paths() if "{" not in path}
    assert fixed - {"/healthz", "/readyz"} <= asked


def test_every_call_wrote_its_line(called: Called):
    lines = [json.loads(line) for line in called.server.stdout.splitlines()]
    events = {line["event"] for line in lines}
    assert {"search", "batch", "resolve", "filter", "hot", "feedback", "catalog"} <= events
    assert {"unauthorized", "invalid_json", "payload_too_large"} <= {
        line.get("outcome") for line in lines
    }


@pytest.mark.parametrize("secret", [MARK, KEY, OTHER, "0123456789abcdef"])
def test_no_line_holds_what_was_sent(called: Called, secret: str):
    lines = (called.server.stdout + called.server.stderr).splitlines()
    assert len(lines) > len(GOOD)
    assert [line for line in lines if secret in line.lower()] == []


def test_nothing_failed_inside(called: Called):
    assert "request_failed" not in called.server.stdout
    assert "Traceback" not in called.server.stderr


@pytest.mark.parametrize("path", ["/docs", "/docs/errors", "/docs/docs.js", "/openapi.json", "/"])
def test_pages_are_not_guessed_at_or_framed(server: Process, path: str):
    answer = server.get(path)
    headers = answer.headers
    assert answer.status_code == 200
    assert headers["x-content-type-options"] == "nosniff"
    if headers["content-type"].startswith("text/html"):
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
