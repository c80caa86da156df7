"""Folders of skills and subagents as a server within this process: a call reads, and runs nothing.

It is connected like any other, so that its entries are listed, permitted, searched, pinned and
shown as tools are.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams

from toolscout.errors import ConfigurationError
from toolscout.files.skills import read_skill, read_skills
from toolscout.gateway.mcp.log import logger
from toolscout.gateway.mcp.servers import FolderServer
from toolscout.tools.file_entries import describe_file

HINT = "anthropic/searchHint"
"""In the `_meta` of a tool: words for hosts to search it by."""

FILE = "toolscout/file"
"""In the `_meta` of a skill or subagent: its kind as `tags`, and its path as `source`."""

_READS = mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False)


class _Folders:
    """What some folders have, as it was listed last."""

    def __init__(self, name: str, server: FolderServer) -> None:
        self._name = name
        self._folders = list(map(Path, server.folders))
        self._entries: dict[str, dict[str, Any]] = {}
        self._told: set[str] = set()

    async def list_tools(self, *_: Any) -> mcp_types.ListToolsResult:
        """List all entries, and log what has become unreadable.

        Raises:
            MCPError: nothing here reads YAML.
        """
        try:
            found = await asyncio.to_thread(read_skills, *self._folders)
        except ConfigurationError as error:
            raise MCPError(mcp_types.INTERNAL_ERROR, error.detail) from None
        for flaw in found.flaws:
            if flaw not in self._told:
                logger.warning("%s: %s", self._name, flaw)
        self._told = set(found.flaws)
        self._entries = {one["name"]: one for one in found.entries}
        return mcp_types.ListToolsResult(tools=list(map(_as_tool, found.entries)))

    async def call_tool(
        self, _: Any, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        """Return the text of an entry that was listed."""
        entry = self._entries.get(params.name)
        if entry is None:
            return _answer(f"there is no {params.name}: search again", is_error=True)
        try:
            text = await asyncio.to_thread(read_skill, Path(entry["source"]), self._folders)
        except OSError as error:
            why = error.strerror
            return _answer(f"{params.name} cannot be read ({why}): search again", is_error=True)
        return _answer(f"[{describe_file(entry['tags'], entry['source'])}]\n{text}")


@asynccontextmanager
async def serve_folders(name: str, server: FolderServer) -> AsyncIterator[Any]:
    """Yield streams of messages from folders and to them."""
    folders = _Folders(name, server)
    made = Server(name, on_list_tools=folders.list_tools, on_call_tool=folders.call_tool)
    async with (
        create_client_server_memory_streams() as (near, far),
        anyio.create_task_group() as group,
    ):
        group.start_soon(made.run, *far, made.create_initialization_options())
        try:
            yield near
        finally:
            group.cancel_scope.cancel()


def _as_tool(entry: dict[str, Any]) -> mcp_types.Tool:
    about = {FILE: {"tags": entry["tags"], "source": entry["source"]}}
    return mcp_types.Tool(
        name=entry["name"],
        description=entry["description"],
        input_schema={"type": "object", "properties": {}},
        annotations=_READS,
        _meta=about | {HINT: " ".join(entry["keywords"])},
    )


def _answer(text: str, is_error: bool = False) -> mcp_types.CallToolResult:
    content = mcp_types.TextContent(type="text", text=text)
    return mcp_types.CallToolResult(content=[content], is_error=is_error)
