"""Servers with strange tools, errors of the protocol and silent changes."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from tests.gateway.mcp.hosts import Host, inside, raw_server, stdio_server, text_of, write
from tests.gateway.mcp.test_availability import children
from tests.support import PATIENCE_S, until
from toolscout.gateway.mcp import connection, transports
from toolscout.gateway.mcp.config import read_config
from toolscout.gateway.mcp.connection import Connection
from toolscout.gateway.mcp.servers import StdioServer
from toolscout.serving.connections import cancel_until_done


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    env = {"ODD_KEY": "sesame"}
    servers = {
        "odd": stdio_server("odd", env=env),
        "broken": stdio_server("odd", env={"BROKEN": "1"}),
    }
    with inside(tmp_path_factory.mktemp("odd"), servers) as started:
        yield started


def test_all_pages_of_a_list_are_read_and_what_is_no_name_is_left_out(office: Host):
    assert office.names() == {
        "odd__plain",
        "odd__with__two",
        "odd__with.dot/and slash",
        "odd__größe",
        "odd__twice",
        "odd__of_list_0",
        "odd__also_as_task",
    }
    why = "1 runnable only as an MCP task: only_as_task; 1 that cannot be read: xxx"
    assert f"odd: left out: {why}" in office.stderr
    assert "all beyond" not in office.stderr


@pytest.mark.parametrize("name", ["with__two", "with.dot/and slash", "größe", "twice"])
def test_a_strange_name_is_called_as_its_server_spells_it(office: Host, name: str):
    assert text_of(office.call(f"odd__{name}")) == name


def test_an_error_of_the_protocol_comes_as_it_is_but_for_a_key(office: Host):
    with pytest.raises(MCPError) as caught:
        office.call("odd__plain")
    assert (caught.value.error.code, caught.value.error.message) == (-32000, "not like this, ***")
    assert caught.value.error.data == {"expected": "otherwise", "env": {"ODD_KEY": "***"}}
    assert text_of(office.call("odd__twice")) == "twice"


def test_a_server_whose_list_cannot_be_read_is_unavailable(office: Host):
    until(lambda: "broken: unavailable: it answers with error -32603" in office.stderr)
    assert "sesame" not in office.stderr


def test_a_server_of_the_newest_protocol_that_asks_its_host_is_refused_that(tmp_path: Path):
    with inside(tmp_path, {"new": stdio_server("modern")}) as office:
        refused = office.call("new__ask")
        assert refused.is_error
        assert text_of(refused) == "new asks its host something, which is refused"
        assert office.names() == {"new__ask"}


async def sizes_until(
    folder: Path, server: dict[str, Any], is_enough: Callable[[list[int]], bool]
) -> list[int]:
    """Connect until the lists of a server are enough; return how many tools each had."""
    config = read_config(write(folder, {"odd": server}), {})
    sizes: list[int] = []
    seen = asyncio.Event()

    async def changed() -> None:
        sizes.append(len(odd.listed.tools))
        if is_enough(sizes):
            seen.set()

    odd = Connection("odd", config.servers["odd"], changed)
    running = asyncio.create_task(odd.run())
    async with asyncio.timeout(PATIENCE_S):
        await seen.wait()
    await cancel_until_done(running)
    return sizes


@pytest.mark.anyio
async def test_a_list_that_changes_in_silence_is_read_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "REFRESH_S", 0.2)
    monkeypatch.setattr(connection, "CHECK_S", 0.1)
    sizes = await sizes_until(tmp_path, stdio_server("odd"), lambda sizes: len(sizes) >= 3)
    assert sizes[:3] == [10, 11, 12]


@pytest.mark.anyio
async def test_a_list_is_kept_as_long_as_its_server_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "CHECK_S", 0.05)
    monkeypatch.setattr(connection, "MIN_REFRESH_S", 0.05)
    tools = [{"name": "one", "inputSchema": {"type": "object"}}]
    server = raw_server(tools, SILENT="1", LIST=json.dumps({"ttlMs": 100}))
    await sizes_until(tmp_path, server, lambda sizes: sizes[-1] >= 4)


@pytest.mark.anyio
@pytest.mark.parametrize("is_started", [False, True])
async def test_nothing_is_left_of_a_server_that_does_not_end_when_told_to(
    is_started: bool, tmp_path: Path
):
    deaf = tmp_path / "deaf"
    stubborn = "import pathlib, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    stubborn += f"pathlib.Path({str(deaf)!r}).touch(); [signal.pause() for _ in iter(int, 1)]"
    before = set(children(os.getpid()))

    async def changed() -> None:
        pass

    server = StdioServer(command=sys.executable, args=("-c", stubborn))
    running = asyncio.create_task(Connection("stubborn", server, changed).run())
    async with asyncio.timeout(PATIENCE_S):
        while not (deaf.exists() if is_started else set(children(os.getpid())) - before):
            await asyncio.sleep(0.001)
    await cancel_until_done(running)
    assert not set(children(os.getpid())) - before


TIDY = """
import pathlib, sys
here = pathlib.Path(sys.argv[1])
sys.stdin.readline()  # a message: the gateway has its streams
(here / "began").touch()
sys.stdin.read()
(here / "told").touch()
(here / "go").open("rb").read(1)
(here / "farewell").write_text("written")
"""
"""A server that still has something to write when its input has ended."""


@pytest.mark.anyio
async def test_a_server_has_time_to_end_by_itself_however_often_it_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(transports, "GRACE_S", PATIENCE_S)
    os.mkfifo(tmp_path / "go")

    async def changed() -> None:
        pass

    server = StdioServer(command=sys.executable, args=("-c", TIDY, str(tmp_path)))
    running = asyncio.create_task(Connection("tidy", server, changed).run())
    async with asyncio.timeout(PATIENCE_S):
        await existing(tmp_path / "began")
        running.cancel()
        await existing(tmp_path / "told")
        for _ in range(9):
            running.cancel()
            await asyncio.sleep(0)
        go = os.open(tmp_path / "go", os.O_RDWR)
        os.write(go, b"!")
        await cancel_until_done(running)
        os.close(go)
    assert (tmp_path / "farewell").read_text() == "written"


async def existing(path: Path) -> None:
    while not path.exists():
        await asyncio.sleep(0.001)


FILTERED = {
    "name": "echo",
    "description": "List the calls that fit",
    "inputSchema": {
        "type": "object",
        "properties": {"$filter": {"type": "string"}},
        "required": ["$filter"],
    },
    "annotations": {"readOnlyHint": True},
}


def test_a_pinned_tool_is_listed_with_keys_that_every_host_takes_and_called_with_its_own(
    tmp_path: Path,
):
    with inside(tmp_path, {"odd": raw_server([FILTERED])}, pinned=["odd__echo"]) as office:
        (listed,) = [tool for tool in office.tools() if tool.name == "odd__echo"]
        assert listed.input_schema["required"] == ["filter_"]
        assert list(listed.input_schema["properties"]) == ["filter_"]
        own = {"$filter": "a"}
        assert json.loads(text_of(office.send("odd__echo", {"filter_": "a"}))) == own
        assert json.loads(text_of(office.call("odd__echo", **own))) == own
        assert "odd__echo:" not in office.stderr
