"""Hosts before the gateway: real ones of the library, each with a gateway in its own process."""

import asyncio
import json
import logging
import os
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mcp_types
from anyio import CancelScope
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastmcp import Client, FastMCP
from fastmcp.client.messages import MessageHandler
from fastmcp.client.transports import ClientTransport, StdioTransport

from tests.gateway.mcp import forked
from tests.support import PATIENCE_S, answers, environment, free_port, started, until
from toolscout.cli import main
from toolscout.gateway.mcp.gateway import Gateway

SERVERS = Path(__file__).with_name("servers")
BY_FASTMCP = ("library", "long", "notes", "sums")
ROOT = Path(__file__).parents[3]


class Host:
    """A program that speaks MCP, with one session."""

    def __init__(self, portal: BlockingPortal, client: Client[Any], log: Path) -> None:
        self.portal = portal
        self.client = client
        self.log = log
        self.progress: list[tuple[float, float | None, str | None]] = []
        self.told_of_changes = self.told_of_resources = 0
        self.logged: list[mcp_types.LoggingMessageNotificationParams] = []

    @property
    def stderr(self) -> str:
        return self.log.read_text("utf-8", "replace")

    def tools(self) -> list[mcp_types.Tool]:
        listed: list[mcp_types.Tool] = self.portal.call(self.client.list_tools)
        return listed

    def send(self, name: str, arguments: dict[str, Any] | None = None) -> mcp_types.CallToolResult:
        """Call a tool that the gateway lists."""
        result: mcp_types.CallToolResult = self.portal.call(self._send, name, arguments or {})
        return result

    def ask(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the JSON that one of the gateway's own tools answers."""
        answer: dict[str, Any] = json.loads(text_of(self.send(name, arguments)))
        return answer

    def call(self, tool: str, /, **arguments: Any) -> mcp_types.CallToolResult:
        """Call a server's tool through `call_tool`, which calls what only reads."""
        return self.send("call_tool", {"name": tool, "arguments": arguments})

    def change(self, tool: str, /, **arguments: Any) -> mcp_types.CallToolResult:
        """Call a server's tool through `call_tool_write`."""
        return self.send("call_tool_write", {"name": tool, "arguments": arguments})

    def call_again(self, refusal: mcp_types.CallToolResult, **arguments: Any) -> Any:
        """Repeat a refused call with the token that the refusal shows."""
        shown = json.loads(text_of(refusal))
        call = {"name": shown["tool"]["name"], "arguments": arguments, "token": shown["token"]}
        return self.send(shown["tool"]["call"], call)

    def found(self, query: str, /, **more: Any) -> list[str]:
        """Return the names that a search finds."""
        answer = self.ask("search_tools", query=query, **more)
        lines = [line.split(" ", 1)[1].partition("(")[0] for line in answer.get("more", ())]
        return [*(tool["name"] for tool in answer["tools"]), *lines]

    def names(self) -> set[str]:
        """Return the names of all tools behind the gateway."""
        return {tool["name"] for tool in self.ask("list_tools_meta", page_size=200)["tools"]}

    async def _send(self, name: str, arguments: dict[str, Any]) -> mcp_types.CallToolResult:
        return await self.client.call_tool_mcp(name, arguments, progress_handler=self._note)

    async def _note(self, done: float, total: float | None, message: str | None) -> None:
        self.progress.append((done, total, message))


class _Changes(MessageHandler):
    host: Host

    async def on_tool_list_changed(self, _: mcp_types.ToolListChangedNotification) -> None:
        self.host.told_of_changes += 1

    async def on_resource_list_changed(self, _: mcp_types.ResourceListChangedNotification) -> None:
        self.host.told_of_resources += 1

    async def note_log(self, message: mcp_types.LoggingMessageNotificationParams) -> None:
        self.host.logged.append(message)


def text_of(result: mcp_types.CallToolResult) -> str:
    """Return the text of a result that has nothing else."""
    (content,) = result.content
    assert isinstance(content, mcp_types.TextContent)
    return content.text


def cache_in(folder: Path) -> dict[str, str]:
    """Return the variables for lists and tokens that no other test uses."""
    return {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state")}


def stdio_server(script: str = "notes", **more: Any) -> dict[str, Any]:
    """Return the configuration of one of the servers here, as a subprocess."""
    path = SERVERS / f"{script}.py"
    arguments = forked.command(path) if script in BY_FASTMCP else [str(path)]
    return {"command": sys.executable, "args": arguments, **more}


def raw_server(tools: list[Any], **env: str) -> dict[str, Any]:
    """Return the configuration of a server that lists tools as they are given here."""
    return stdio_server("raw", env={"TOOLS": json.dumps(tools), **env})


def write(folder: Path, servers: dict[str, Any], **options: Any) -> Path:
    """Write a configuration."""
    path = folder / "mcp.json"
    content: dict[str, Any] = {"mcpServers": servers}
    if options:
        content["toolscout"] = options
    path.write_text(json.dumps(content), "utf-8")
    return path


@contextmanager
def connected(
    transport: ClientTransport | FastMCP | str, log: Path, mode: str = "legacy"
) -> Iterator[Host]:
    """Yield a host with a session over a transport."""
    changes = _Changes()
    client = Client(
        transport,
        mode=mode,
        init_timeout=PATIENCE_S,
        message_handler=changes,
        log_handler=changes.note_log,
    )
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        changes.host = Host(portal, client, log)
        yield changes.host


@contextmanager
def host(
    folder: Path, servers: dict[str, Any], *flags: str, mode: str = "legacy", **options: Any
) -> Iterator[Host]:
    """Yield a host that runs a gateway over stdio, as hosts do."""
    log = folder / "stderr"
    command = ["-m", "toolscout", "mcp", "--config", str(write(folder, servers, **options)), *flags]
    env = environment(PYTHONPATH=os.environ.get("PYTHONPATH", ""), **cache_in(folder))
    transport = StdioTransport(sys.executable, command, env, keep_alive=False, log_file=log)
    with connected(transport, log, mode) as started:
        yield started


@contextmanager
def inside(folder: Path, servers: dict[str, Any], *flags: str, **options: Any) -> Iterator[Host]:
    """Yield a host of a gateway in this process, without pipes between them.

    For what the gateway does with its servers, which are processes as ever.
    """
    made: list[Gateway] = []

    def take(gateway: Gateway, *_: object) -> int:
        made.append(gateway)
        return 0

    log = folder / "stderr"
    with (
        patch.dict(os.environ, environment(**cache_in(folder)), clear=True),
        patch("toolscout.gateway.mcp.serving.serve", take),
    ):
        assert main(["mcp", "--config", str(write(folder, servers, **options)), *flags]) == 0
    (gateway,) = made

    processes: list[Process] = []
    loops: list[asyncio.AbstractEventLoop] = []
    start = asyncio.create_subprocess_exec

    async def noted(*command: Any, **options: Any) -> Process:
        process = await start(*command, **options)
        if asyncio.get_running_loop() in loops:  # not that of another test
            processes.append(process)
        return process

    @asynccontextmanager
    async def lifespan(_: FastMCP) -> AsyncIterator[None]:
        loops.append(asyncio.get_running_loop())
        try:
            with patch("asyncio.create_subprocess_exec", noted):
                async with gateway.running():
                    yield
        finally:
            with CancelScope(shield=True):  # the loop that learns of their ends is about to close
                for process in processes:
                    await process.wait()

    # The library's transport in memory takes only servers of its own, each around one of the SDK.
    served: FastMCP[Any] = FastMCP("toolscout", lifespan=lifespan)
    served._mcp_server = gateway.hosts.server
    with logged(log), connected(served, log) as started:
        yield started


@contextmanager
def logged(path: Path) -> Iterator[None]:
    """Write the gateway's log into a file, as its process writes it."""
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger = logging.getLogger("toolscout")
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        handler.close()


@contextmanager
def listening(
    folder: Path, *command: str, port: int | None = None, **settings: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run a program that serves HTTP at the port named `PORT` in its command; yield its URL."""
    port = port or free_port()
    arguments = [one.replace("PORT", str(port)) for one in command]
    with started(folder, port, *arguments, **cache_in(folder), **settings) as server:
        until(lambda: answers(port))
        yield f"{server.url}/mcp", server.process
