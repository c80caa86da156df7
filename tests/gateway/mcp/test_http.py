"""The gateway over streamable HTTP: many sessions, a key, and no page of a browser."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from mcp.server.lowlevel import Server
from sse_starlette.sse import AppStatus

from tests.gateway.mcp.hosts import Host, connected, listening, stdio_server, text_of, write
from tests.support import until
from toolscout.gateway.mcp import web
from toolscout.settings import Settings

pytestmark = pytest.mark.integration

KEY = "key-of-the-gateway-0123456789abcdef"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
ACCEPTS = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield a gateway that listens, without a key."""
    folder = tmp_path_factory.mktemp("http")
    config = write(folder, {"notes": stdio_server()})
    command = ["-m", "toolscout", "mcp", "--config", str(config), "--http", "127.0.0.1:PORT"]
    with listening(folder, *command) as (served, _):
        with connected(served, folder) as first:  # a busy machine starts servers after the gateway
            until(lambda: not first.call("notes__list_notes").is_error)
        yield served


def test_twenty_sessions_call_side_by_side(url: str):
    async def session(number: int) -> None:
        async with Client(url, mode="legacy") as client:
            for _ in range(3):
                found = await client.call_tool("search_tools", {"query": "list the notes"})
                assert "notes__list_notes" in found.content[0].text
                arguments = {"folder": f"folder {number}"}
                call = {"name": "notes__list_notes", "arguments": arguments}
                called = await client.call_tool_mcp("call_tool", call)
                assert called.structured_content["folder"] == f"folder {number}"

    async def all_sessions() -> None:
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(session, number)

    anyio.run(all_sessions)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_host_that_opens_a_session_for_each_call_can_call_what_writes(
    url: str, tmp_path: Path, mode: str
):
    def in_a_session(call: Callable[[Host], Any]) -> Any:
        with connected(url, tmp_path, mode) as office:
            return call(office)

    in_a_session(lambda office: office.ask("tool_info", name="notes__send_note", detail="full"))
    early = in_a_session(lambda office: office.call("notes__send_note", text="tea"))
    assert early.is_error
    assert text_of(in_a_session(lambda office: office.call_again(early, text="tea"))) == "sent tea"


@pytest.mark.parametrize(
    "headers", [{"Host": "attacker.example"}, {"Origin": "https://attacker.example"}]
)
def test_a_page_of_a_browser_gets_no_answer(url: str, headers: dict[str, str]):
    assert httpx2.post(url, json=PING, headers=ACCEPTS | headers).status_code in (403, 421)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", b"431"),
        (b"GET /mcp HTTP/1.1\r\n\r\n", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
    ],
    ids=["long", "hostless", "nonsense"],
)
def test_heads_are_bounded(url: str, head: bytes, status: bytes):
    address = httpx2.URL(url)
    with socket.create_connection((address.host, address.port), timeout=20) as connection:
        connection.sendall(head)
        assert connection.recv(65_536).split(b" ")[1] == status


WRONG_KEYS = (
    {},
    {"Authorization": "Bearer wrong"},
    {"Authorization": "Bearer ü"},
    {"X-API-Key": "wrong"},
    {"X-API-Key": KEY, "Authorization": f"Bearer {KEY[::-1]}"},
)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"x":[' + b"[]," * 200_000 + b"[]]}", 413),
        (b'{"x":"' + b"a" * 5_000_000 + b'"}', 413),
        (b"[" * 50_000, 400),
    ],
    ids=["values", "bytes", "depth"],
)
def test_bodies_are_bounded_before_they_are_decoded(url: str, body: bytes, status: int):
    headers = ACCEPTS | {"Content-Type": "application/json"}
    assert httpx2.post(url, content=body, headers=headers).status_code == status


def test_a_gateway_with_a_key_answers_only_who_sends_it(tmp_path: Path):
    config = write(tmp_path, {"notes": stdio_server()})
    command = ["-m", "toolscout", "mcp", "--config", str(config), "--http", "127.0.0.1:PORT"]
    with listening(tmp_path, *command, TOOLSCOUT_MCP_KEY=KEY) as (url, _):
        for sent in WRONG_KEYS:
            headers = {name: value.encode() for name, value in (ACCEPTS | sent).items()}
            assert httpx2.post(url, json=PING, headers=headers).status_code == 401
        with connected(StreamableHttpTransport(url, auth=KEY), tmp_path) as office:
            until(lambda: not office.call("notes__list_notes").is_error)
        with connected(StreamableHttpTransport(url, {"X-API-Key": KEY}), tmp_path) as office:
            assert not office.call("notes__list_notes").is_error


def test_only_listed_hosts_are_answered_with_a_key_too(tmp_path: Path):
    config = write(tmp_path, {"notes": stdio_server()})
    address = ["--http", "127.0.0.1:PORT", "--allowed-hosts", "tools.example"]
    command = ["-m", "toolscout", "mcp", "--config", str(config), *address]
    with listening(tmp_path, *command, TOOLSCOUT_MCP_KEY=KEY) as (url, _):
        for host, status in (("tools.example", 200), ("attacker.example", 421)):
            headers = ACCEPTS | {"Host": host, "X-API-Key": KEY}
            assert httpx2.post(url, json=HELLO, headers=headers).status_code == status


@pytest.mark.anyio
async def test_sessions_are_bounded_and_the_one_used_longest_ago_ends_first(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(web, "MAX_SESSIONS", 3)
    served = Server[Any]("x").streamable_http_app(host="")
    transport = httpx2.ASGITransport(web.Sessions(served))

    async def opened() -> str:
        answer = await client.post(web.PATH, json=HELLO)
        assert answer.status_code == 200
        return answer.headers["mcp-session-id"]

    async def ping(session: str) -> int:
        headers = {"mcp-session-id": session}
        return (await client.post(web.PATH, json=PING, headers=headers)).status_code

    async with (
        served.router.lifespan_context(served),
        httpx2.AsyncClient(
            transport=transport, base_url="http://localhost", headers=ACCEPTS
        ) as client,
    ):
        first, second, third = [await opened() for _ in range(3)]
        assert await ping(first) == 200
        fourth = await opened()
        assert [await ping(one) for one in (first, second, third, fourth)] == [200, 404, 200, 200]
        deleted = await client.delete(web.PATH, headers={"mcp-session-id": first})
        assert deleted.status_code == 200
        fifth = await opened()
        assert [await ping(one) for one in (third, fourth, fifth)] == [200, 200, 200]


def test_a_signal_that_comes_before_anything_is_served_ends_it(monkeypatch: pytest.MonkeyPatch):
    # The library's own, which holds for the whole process.
    monkeypatch.setattr(AppStatus, "should_exit", False)
    monkeypatch.setattr(AppStatus, "enable_automatic_graceful_drain", True)

    async def stopped() -> None:
        stop = asyncio.Event()
        stop.set()
        listener = socket.create_server(("127.0.0.1", 0))
        serving = web.serve_http(Server[Any]("empty"), None, listener, Settings(), stop)
        await asyncio.wait_for(serving, 30)

    asyncio.run(stopped())
