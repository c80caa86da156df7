"""The list of tools of one server: pages, which are cut, and entries, of which some are no tools.

The library refuses a whole list for one entry that it cannot read. So a refused page is asked for
again, and those entries are taken out of the answer before the library looks at it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import mcp_types
from fastmcp.client.transports import ClientTransport
from fastmcp.client.transports.base import TransportOptions
from fastmcp.server.providers.proxy import ProxyClient
from mcp import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import methods
from pydantic import ValidationError

from toolscout.gateway.mcp.cache import KINDS, MAX_AGE_S, MAX_LIST_BYTES, Kind, ToolPages
from toolscout.gateway.mcp.failures import is_lost
from toolscout.index.tool_list import MAX_TOOLS

MAX_PAGES = 250
"""Where the reading of a list ends; the tools until then are offered."""

MAX_TEXTS = 1_000
"""Resources, templates and prompts of one server, of each, that are listed."""

MAX_NAME_CHARS = 2_048
"""Characters of a URI or of the name of a prompt; what has more is left out."""

MAX_FLAW_CHARS = 100
"""Characters of what is wrong with an entry: a part of it is in the server's own words."""

VERSION = "2025-11-25"
"""The version of the protocol by which single entries are read; later ones add no bounds."""


class ListTransport(ClientTransport):
    """Mixin of a transport that cuts lists of tools and, once `is_lenient`, takes entries out."""

    is_lenient = False
    offset = 0
    """How many entries of the list were on earlier pages."""
    unreadable: tuple[tuple[str, str], ...] = ()
    """The entries that were taken out of the latest page, as `ToolPages` has them."""
    ttl_s: float | None = None
    """Seconds for which the server says that the latest page of tools is as it is."""

    def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session: Any
    ) -> Any:
        """Connect as the next class does, and look at each answer before the library does."""
        options = transport_options or TransportOptions()
        inner = options.session_class

        def opened(incoming: Any, outgoing: Any, **more: Any) -> Any:
            return inner(dispatcher=_Dispatcher(self, incoming, outgoing), **more)

        options = replace(options, session_class=opened)
        return super().connect_session(transport_options=options, **session)

    def trim(self, result: dict[str, Any]) -> None:
        """Cut the list of tools in an answer, if there is one, and note how long it holds."""
        tools = result.get("tools")
        if isinstance(tools, list):
            ttl_ms: Any = result.get("ttlMs")  # which the library drops in older versions
            is_told = isinstance(ttl_ms, int | float) and ttl_ms > 0
            self.ttl_s = ttl_ms / 1_000 if is_told else None
            del tools[MAX_TOOLS + 1 :]
            if self.is_lenient:
                flaws = [(entry, _flaw(entry)) for entry in tools]
                self.unreadable = tuple(
                    (_label(entry, number), flaw)
                    for number, (entry, flaw) in enumerate(flaws, self.offset + 1)
                    if flaw is not None
                )
                tools[:] = [entry for entry, flaw in flaws if flaw is None]


class _Dispatcher(JSONRPCDispatcher[Any]):
    """Sends requests as the library does, and trims the lists in the answers."""

    def __init__(self, transport: ListTransport, incoming: Any, outgoing: Any) -> None:
        super().__init__(incoming, outgoing)
        self._transport = transport

    async def send_raw_request(self, *request: Any, **more: Any) -> dict[str, Any]:
        result = await super().send_raw_request(*request, **more)
        self._transport.trim(result)
        return result


def _flaw(entry: Any) -> str | None:
    """Return what is wrong with an entry; None of one that can be read."""
    try:
        mcp_types.Tool.model_validate(entry, by_name=False)
        methods.validate_server_result("tools/list", VERSION, {"tools": [entry]})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = first["loc"][2:] if first["loc"][:1] == ("tools",) else first["loc"]
        where = ".".join(part for part in map(str, path) if part.isprintable())
        message = first["msg"][:1].lower() + first["msg"][1:]
        return f"{where}: {message}"[:MAX_FLAW_CHARS] if where else message[:MAX_FLAW_CHARS]
    return None


def _label(entry: Any, number: int) -> str:
    """Return the name of an entry, or its number in the list if it has none to show."""
    name = entry.get("name") if isinstance(entry, dict) else None
    is_shown = isinstance(name, str) and name.strip() and name.isprintable()
    return str(name)[:MAX_NAME_CHARS] if is_shown else f"#{number}"


async def read_pages(client: ProxyClient) -> ToolPages:
    """Return the tools of all pages.

    Raises:
        Exception: the server is lost, refuses, or answers with something else than a list.
    """
    transport: Any = client.transport
    transport.unreadable = ()
    unreadable: list[tuple[str, str]] = []
    tools: list[mcp_types.Tool] = []
    ttls: list[float] = []

    async def ask(cursor: str | None) -> mcp_types.ListToolsResult:
        transport.offset = len(tools) + len(unreadable)
        try:
            return await client.list_tools_mcp(cursor=cursor)
        except ValidationError:
            if transport.is_lenient:
                raise
            transport.is_lenient = True
            return await client.list_tools_mcp(cursor=cursor)

    is_cut = False
    async for page in _pages(ask):
        tools += page.tools
        unreadable += transport.unreadable
        ttls += [] if transport.ttl_s is None else [min(transport.ttl_s, MAX_AGE_S)]
        is_cut = page.next_cursor is not None
        if len(tools) > MAX_TOOLS:
            is_cut = True
            break
    kept = tuple(tools[:MAX_TOOLS])
    return ToolPages(kept, is_cut, tuple(unreadable), ttl_s=min(ttls, default=None))


async def read_texts(client: ProxyClient) -> dict[str, tuple[Any, ...]]:
    """Return the resources, templates and prompts of a server, as fields of its list.

    Raises:
        Exception: the server is lost.
    """
    capable = client.server_capabilities
    return {
        kind.field: await _texts(getattr(client, f"list_{kind.field}_mcp"), kind)
        for kind in KINDS
        if getattr(capable, kind.capability, None) is not None
    }


async def _texts(ask: Any, kind: Kind) -> tuple[Any, ...]:
    """Return the entries of a list, the first of each name, until one page cannot be read."""
    entries: dict[str, Any] = {}
    try:
        async for page in _pages(ask):
            for entry in getattr(page, kind.field):
                name = getattr(entry, kind.key)
                if name.strip() and name.isprintable() and len(name) <= MAX_NAME_CHARS:
                    entries.setdefault(name, entry)
            if len(entries) > MAX_TEXTS:
                break
    except (ValidationError, MCPError) as error:
        if is_lost(error):
            raise
    return tuple(entries.values())[:MAX_TEXTS]


async def _pages(ask: Callable[..., Awaitable[Any]]) -> AsyncIterator[Any]:
    """Yield the pages of a list, until they are too large, too many or begin again."""
    cursors: set[str | None] = set()
    cursor, size = None, 0
    while cursor not in cursors and len(cursors) < MAX_PAGES and size <= MAX_LIST_BYTES:
        cursors.add(cursor)
        page = await ask(cursor=cursor)
        yield page
        size += len(await asyncio.to_thread(page.model_dump_json))
        if (cursor := page.next_cursor) is None:
            return
