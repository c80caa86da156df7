"""Real servers are found and called; killed, slow and changing ones disturb no other."""

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastmcp import Client

from tests.gateway.mcp.hosts import (
    SERVERS,
    Host,
    connected,
    host,
    listening,
    stdio_server,
    text_of,
    write,
)
from tests.integration.mcp.environment import installed, published
from tests.support import until

pytestmark = pytest.mark.integration

SLOW_S = 8


@dataclass
class Gateway:
    """A gateway over HTTP before all servers."""

    url: str
    process: subprocess.Popen[bytes]
    folder: Path

    def kill(self, program: str) -> int:
        """Kill the server that runs a program; returns its process id."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        for pid in map(int, children.read_text("ascii").split()):
            if program in Path(f"/proc/{pid}/cmdline").read_text("utf-8"):
                os.kill(pid, signal.SIGKILL)
                return pid
        raise AssertionError(f"{program} does not run")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a repository."""
    installed()
    folder = tmp_path_factory.mktemp("mcp")
    (folder / "milk.txt").write_text("two litres", "utf-8")
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def servers(folder: Path) -> dict[str, Any]:
    git = published("mcp-server-git")
    return {
        "time": published("mcp-server-time"),
        "git": {"command": "sh", "args": ["-c", f"sleep {SLOW_S}; exec {git['command']}"]},
        "everything": published("mcp-server-everything"),
        "files": published("mcp-server-filesystem", str(folder)),
        "notes": stdio_server(),
    }


@pytest.fixture(scope="module")
def gateway(folder: Path, servers: dict[str, Any]) -> Iterator[Gateway]:
    config = write(folder, servers)
    command = ["-m", "toolscout", "mcp", "--config", str(config), "--http", "127.0.0.1:PORT"]
    with listening(folder, *command) as (url, process):
        yield Gateway(url, process, folder)


@pytest.fixture(scope="module")
def office(gateway: Gateway) -> Iterator[Host]:
    with connected(gateway.url, gateway.folder / "stderr") as started:
        yield started


def test_a_slow_server_is_found_when_it_has_started(office: Host):
    assert "git__git_status" not in office.names()
    assert "files__read_text_file" in office.found("read a text file")
    until(lambda: "git__git_status" in office.names())


@pytest.mark.parametrize(
    ("query", "tool", "arguments", "said"),
    [
        ("what time is it now", "time__get_current_time", {"timezone": "Asia/Tokyo"}, "+09:00"),
        ("read a text file", "files__read_text_file", {"path": "milk.txt"}, "two litres"),
        ("status of the working tree", "git__git_status", {"repo_path": "."}, "milk.txt"),
        ("sum of two numbers", "everything__get-sum", {"a": 2, "b": 40}, "42"),
    ],
)
def test_a_tool_of_each_server_is_found_and_called(
    office: Host, folder: Path, query, tool, arguments, said
):
    assert tool in office.found(query)
    for key in ("path", "repo_path"):
        if key in arguments:
            arguments = {key: str(folder / arguments[key])}
    result = office.call(tool, **arguments)
    assert not result.is_error
    assert said in text_of(result)


def test_progress_pictures_and_structured_content_come_through(office: Host):
    office.progress.clear()
    done = office.call("everything__trigger-long-running-operation", duration=1, steps=4)
    assert not done.is_error
    until(lambda: len(office.progress) >= 4)
    assert "image" in {part.type for part in office.call("everything__get-tiny-image").content}
    weather = office.call("everything__get-structured-content", location="Chicago")
    assert weather.structured_content is not None
    assert "temperature" in weather.structured_content


def test_a_destructive_tool_waits_until_its_token_is_repeated(office: Host, folder: Path):
    moved = {"source": str(folder / "milk.txt"), "destination": str(folder / "tea.txt")}
    refused = office.call("files__move_file", **moved)
    assert refused.is_error
    assert (folder / "milk.txt").exists()
    assert office.ask("tool_info", name="files__move_file")["requires_confirmation"]
    assert not office.call_again(refused, **moved).is_error
    assert (folder / "tea.txt").exists()
    (folder / "tea.txt").rename(folder / "milk.txt")


def test_a_killed_server_comes_back_and_the_others_never_notice(office: Host, gateway: Gateway):
    gateway.kill("mcp-server-time")
    assert office.call("time__get_current_time", timezone="UTC").is_error
    assert not office.call("everything__echo", message="still here").is_error
    until(lambda: not office.call("time__get_current_time", timezone="UTC").is_error)


def test_a_list_that_changes_is_searched_anew(office: Host):
    assert not office.call("notes__learn_shorthand").is_error
    until(lambda: "notes__transcribe_shorthand" in office.found("transcribe shorthand"))


def test_twenty_hosts_call_side_by_side(gateway: Gateway):
    async def session(number: int) -> None:
        async with Client(gateway.url, mode="legacy") as client:
            for turn in range(5):
                await client.call_tool("search_tools", {"query": "echo a message"})
                message = f"{number}-{turn}"
                call = {"name": "everything__echo", "arguments": {"message": message}}
                result = await client.call_tool_mcp("call_tool", call)
                assert message in result.content[0].text

    async def all_sessions() -> None:
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(session, number)

    anyio.run(all_sessions)


def test_a_server_over_sse_is_called(tmp_path: Path):
    command = [str(SERVERS / "notes.py"), "PORT", "sse"]
    with listening(tmp_path, *command) as (url, _):
        address = url.removesuffix("/mcp") + "/sse"
        with host(tmp_path, {"notes": {"url": address}}) as office:
            assert office.call("notes__list_notes").structured_content is not None


def test_the_same_over_stdio(tmp_path: Path, servers: dict[str, Any]):
    quick = {name: servers[name] for name in ("time", "everything", "files")}
    with host(tmp_path, quick, "--pin", "time__get_current_time") as office:
        assert "time__get_current_time" in {tool.name for tool in office.tools()}
        assert not office.send("time__get_current_time", {"timezone": "UTC"}).is_error
        assert "everything__echo" in office.found("echo a message")
