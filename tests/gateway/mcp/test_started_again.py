"""A server that has ended is started again, and calls wait for that as for a first start."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mcp import MCPError

from tests.gateway.mcp.hosts import Host, inside, raw_server, text_of, write
from tests.support import PATIENCE_S, until
from toolscout.gateway.mcp import connection
from toolscout.gateway.mcp.connection import Connection
from toolscout.gateway.mcp.servers import StdioServer
from toolscout.metatools.arguments import CallError
from toolscout.serving.connections import cancel_until_done

READS = {"inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
TOOLS = [{"name": name, **READS} for name in ("plain", "end")]
AGAIN = "its process has ended; it is being started again"


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """Return a file without which the server does not start."""
    gate = tmp_path / "gate"
    gate.touch()
    return gate


@pytest.fixture
def office(tmp_path: Path, gate: Path) -> Iterator[Host]:
    with inside(tmp_path, {"odd": raw_server(TOOLS, STARTS_WITH=str(gate))}) as started:
        until(lambda: "odd__plain" in started.names())
        yield started


def test_calls_wait_until_it_has_started_again(
    office: Host, gate: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "START_S", PATIENCE_S)
    gate.unlink()
    assert text_of(office.call("odd__end")) == f"odd was lost during the call: {AGAIN}"
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(office.call, "odd__plain") for _ in range(2)]
        until(lambda: "odd: unavailable: its process has ended" in office.stderr)
        gate.touch()
        assert [text_of(call.result()) for call in calls] == ["plain", "plain"]


def test_a_call_that_has_waited_long_enough_says_that_it_is_being_started_again(
    office: Host, gate: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "START_S", 0.0)
    gate.unlink()
    assert office.call("odd__end").is_error
    refused = office.call("odd__plain")
    assert refused.is_error
    assert text_of(refused) == f"odd is unavailable: {AGAIN}"
    gate.touch()
    until(lambda: not office.call("odd__plain").is_error)


def test_what_waits_for_a_server_ends_when_that_is_taken_out_of_the_file(
    office: Host, gate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "START_S", PATIENCE_S)
    gate.unlink()
    assert office.call("odd__end").is_error

    waiting: list[str] = []
    wake = Connection.wake

    async def noted(server: Connection) -> None:
        waiting.append(server.name)
        await wake(server)

    def read() -> object:
        return office.portal.call(office.client.read_resource, "toolscout://odd/x")

    monkeypatch.setattr(Connection, "wake", noted)
    with ThreadPoolExecutor(2) as pool:
        call = pool.submit(office.call, "odd__plain")
        reading = pool.submit(read)
        until(lambda: waiting == ["odd", "odd"])
        write(tmp_path, {"other": raw_server(TOOLS)})
        assert "there is no tool of this name" in text_of(call.result())
        with pytest.raises(MCPError) as refused:
            reading.result()
    gone = "odd is unavailable: it has been taken out of the configuration"
    assert refused.value.error.message == gone


def test_a_server_that_cannot_be_started_is_not_said_to_be(tmp_path: Path):
    servers = {"odd": raw_server(TOOLS), "wrong": {"command": "x", "args": ["${NO_SUCH_NAME}"]}}
    with inside(tmp_path, servers) as office, pytest.raises(MCPError) as refused:
        office.portal.call(office.client.read_resource, "toolscout://wrong/x")
    assert "variable NO_SUCH_NAME is not set" in str(refused.value)
    assert "again" not in str(refused.value)


@pytest.mark.anyio
async def test_where_it_ends_at_every_start_a_call_ends_with_the_next_start_or_when_cancelled(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(connection, "START_S", PATIENCE_S)
    monkeypatch.setattr(connection, "PAUSE_S", PATIENCE_S)
    failed = asyncio.Event()

    async def changed() -> None:
        failed.set()

    never = Connection("never", StdioServer(command="/no/such/program"), changed)
    running = asyncio.create_task(never.run())
    await failed.wait()
    calls = [asyncio.create_task(never.wake()) for _ in range(2)]
    await cancel_until_done(calls[0])
    await asyncio.sleep(0)
    assert not calls[1].done()
    await cancel_until_done(running)
    await calls[1]
    with pytest.raises(CallError, match="its command /no/such/program does not exist; it is being"):
        await never.request("call_tool", "x")
