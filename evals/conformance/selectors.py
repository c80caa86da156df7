"""What is judged: this engine, a service, an MCP server that searches, a peer of the board."""

import asyncio
import json
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
from fastmcp import Client

from evals.board.selectors import find
from evals.conformance.suite import Case, RefusedError, Selector, UnsupportedError
from evals.rankers import Search
from toolscout.contract.requests import Filters
from toolscout.engine import Engine
from toolscout.errors import ToolscoutError
from toolscout.tools.conversion import read_tools

PATH = "/v1/tool-discovery/search"
REFUSALS = (400, 413, 422)
"""Statuses that say that a request is wrong; any other is no answer to a case."""

TIMEOUT_S = 30.0
PAUSE_S = 0.1
"""Between two questions whether a gateway's server has started."""


ENGINES: dict[str, Engine] = {}
"""By the name of a list, for each is asked several times."""


def engine(tools: Sequence[Any], case: Case) -> list[str]:
    """Ask the engine in this process."""
    filters = Filters(**case.filters) if case.filters else None
    options: dict[str, Any] = {"filters": filters, "always_keep": case.always_keep}
    if case.tools not in ENGINES:
        ENGINES[case.tools] = Engine(tools)
    try:
        return ENGINES[case.tools].search(case.query, case.top_k, **options).names
    except ToolscoutError as error:
        raise RefusedError(str(error)) from None


def service(url: str, key: str) -> Selector:
    """Return how to ask a service that speaks the contract."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    address = f"{url.rstrip('/')}{PATH}"

    def ask(tools: Sequence[Any], case: Case) -> list[str]:
        offered = [
            {"name": tool["name"], "description": tool["description"], "definition": tool}
            for tool in tools
        ]
        body: dict[str, Any] = {"pattern": case.query, "top_k": case.top_k, "tools": offered}
        body |= {"always_keep": case.always_keep, "filters": case.filters}
        sent = {name: value for name, value in body.items() if value or name == "pattern"}
        response = httpx2.post(address, json=sent, headers=headers, timeout=TIMEOUT_S)
        if response.status_code in REFUSALS:
            raise RefusedError(response.text)
        names: list[str] = response.raise_for_status().json()["selected_names"]
        return names

    return ask


def peer(name: str) -> Selector:
    """Return how to ask a selector of the board, or one of a Python file.

    Raises:
        MissingPackage: it is not installed.
    """
    made = find(name)
    searches: dict[str, Search] = {}

    def ask(tools: Sequence[Any], case: Case) -> list[str]:
        if case.filters or case.always_keep:
            raise UnsupportedError("no filters, no pins")
        if case.tools not in searches:
            searches[case.tools] = made(read_tools(tools), ())
        return searches[case.tools](case.query, case.top_k).names

    return ask


class Gateway:
    """A program that searches the tools of the MCP servers of a configuration.

    It is started for each list of tools, and runs until it is closed.

    Args:
        command: starts it on standard input and output; `{config}` is an `mcp.json` with a server
            that has the tools of a case.
        search: the name of its tool that searches, with `query` as its argument.
    """

    def __init__(self, command: str, search: str = "search_tools") -> None:
        self._command, self._search = command, search
        self._runner = asyncio.Runner()
        self._started = AsyncExitStack()
        self._clients: dict[str, Client[Any]] = {}

    def __call__(self, tools: Sequence[Any], case: Case) -> list[str]:
        """Return the tools whose names are in the answer, in the order in which they stand."""
        if case.filters or case.always_keep:
            raise UnsupportedError("no filters, no pins")
        text = self._runner.run(self._asked(tools, case))
        names = sorted((tool["name"] for tool in tools), key=len, reverse=True)
        # A gateway may write the server before a name.
        named = re.compile(rf"(?<![A-Za-z0-9])({'|'.join(map(re.escape, names))})(?![\w-])")
        return list(dict.fromkeys(named.findall(text)))

    def close(self) -> None:
        """End the programs."""
        self._runner.run(self._started.aclose())
        self._runner.close()

    async def _asked(self, tools: Sequence[Any], case: Case) -> str:
        if case.tools not in self._clients:
            client = self._clients[case.tools] = await self._start(tools)
            with suppress(TimeoutError):
                await self._until_found(client, tools[0]["name"])
        return await self._search_by(self._clients[case.tools], case.query)

    async def _search_by(self, client: Client[Any], query: str) -> str:
        result = await client.call_tool_mcp(self._search, {"query": query})
        text = "\n".join(getattr(part, "text", "") for part in result.content)
        if result.is_error:
            raise RefusedError(text)
        return text

    async def _until_found(self, client: Client[Any], name: str) -> None:
        """Wait until a gateway finds a tool by its name, as its server may still be starting."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                with suppress(RefusedError):
                    if name in await self._search_by(client, name):
                        return
                await asyncio.sleep(PAUSE_S)

    async def _start(self, tools: Sequence[Any]) -> Client[Any]:
        folder = Path(self._started.enter_context(TemporaryDirectory()))
        listed, config = folder / "tools.json", folder / "mcp.json"
        listed.write_text(json.dumps(tools), "utf-8")
        arguments = ["-m", "evals.conformance.server", str(listed)]
        servers = {"cases": {"command": sys.executable, "args": arguments}}
        config.write_text(json.dumps({"mcpServers": servers}), "utf-8")
        command, *arguments = shlex.split(self._command.format(config=shlex.quote(str(config))))
        started = {"mcpServers": {"it": {"command": command, "args": arguments}}}
        client: Client[Any] = Client(started)
        return await self._started.enter_async_context(client)
