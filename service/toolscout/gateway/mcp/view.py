"""What hosts see of the gateway, and what is remembered of their sessions."""

import asyncio
import os
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from threading import Lock
from typing import Any, NamedTuple

import mcp_types
from mcp.shared.dispatcher import ProgressFnT
from msgspec.structs import replace

from toolscout.common.counted import write_count
from toolscout.common.spelling import find_prefix, make_key, match_names
from toolscout.contract.requests import Filters
from toolscout.contract.tools import Tool
from toolscout.gateway.mcp import texts
from toolscout.gateway.mcp.cache import KINDS
from toolscout.gateway.mcp.connection import START_S, Connection
from toolscout.gateway.mcp.finder import Finder
from toolscout.gateway.mcp.listing import Listing, find_always_loaded
from toolscout.gateway.mcp.results import LongResults, is_result
from toolscout.gateway.mcp.servers import Config
from toolscout.gateway.mcp.texts import INDEX, OVERVIEW, make_result, rename
from toolscout.index import pages
from toolscout.metatools.gate import RiskGate
from toolscout.text.domains import load_bundled
from toolscout.tools.filters import is_passing
from toolscout.tools.refused import is_refused_by_all
from toolscout.tools.risk import LEVELS

DISABLED = "disabled in the configuration"

MAX_SEARCHES = 16
"""Latest searches of a session that a call may belong to."""


HOSTS_PREFIXES = ("mcptoolscout", "toolscout", "mcp", "")
"""Letters of what hosts write before a name, as in `mcp__git__git_log`."""


def drop_host(spelled: str) -> str:
    """Return the letters of a name without what hosts write before it."""
    return spelled.removeprefix(next(filter(spelled.startswith, HOSTS_PREFIXES)))


class HostSearch(NamedTuple):
    """A search and what it found."""

    id: str
    query: str
    names: tuple[str, ...]


class HostSession:
    """What is remembered of one host's session; a gateway over stdio has one."""

    def __init__(self, view: "View", *, is_remembered: bool = True) -> None:
        self.view = view
        """What it sees."""
        self.is_remembered = is_remembered
        """Whether all requests of this state are of one host."""
        self.peer: Any = None
        """The SDK's session, for notifications; None before its first list."""
        self.level: mcp_types.LoggingLevel = "debug"
        """The lowest level of log messages that it is sent."""
        self.read = set[str]()
        """The tokens of the definitions that were shown to it."""
        self.searches = deque[HostSearch](maxlen=MAX_SEARCHES)

    def note_search(self, query: str, names: list[str]) -> None:
        """Remember what a search found."""
        self.searches.append(HostSearch(os.urandom(8).hex(), query, tuple(names)))

    async def tell(self, tools_changed: bool, texts_changed: bool) -> None:
        """Tell the host that lists have changed; for one that has gone the SDK drops it."""
        if tools_changed:
            await self.peer.send_tool_list_changed()
        if texts_changed:
            await self.peer.send_resource_list_changed()
            await self.peer.send_prompt_list_changed()


class View:
    """What hosts see.

    Args:
        config: the servers, and which of their tools to offer.
        store: where what was learned is kept: `memory`, or `sqlite:PATH`.

    Raises:
        ConfigurationError: there is no such store.
    """

    def __init__(self, config: Config, store: str) -> None:
        self.connections: Sequence[Connection] = ()
        """Those to the servers as they are configured now."""
        self.begun = asyncio.Event()
        """Set as soon as the lists that were kept can be searched."""
        self.ready = asyncio.Event()
        """Set as soon as every server was tried, or the start has taken too long."""
        self.gate = RiskGate()
        self.finder = Finder(store)
        self.results = LongResults()
        self.parts: dict[Filters, View] = {}
        """What hosts see whose keys have filters."""
        self._finders: dict[Filters, Finder] = {}
        self._indexing = Lock()
        self._indexed = Listing()
        """The listing that is searched."""
        self.use(config, self._indexed)
        self._told = self._listed()

    async def part(self, filters: Filters | None) -> "View":
        """Return what a host sees whose key has filters; without any, this.

        It stays the same object, and follows what changes here.
        """
        if filters is None:
            return self
        if filters not in self.parts:
            await self.ready.wait()
            finder = await asyncio.to_thread(self._find_in_part, filters)
            if filters not in self.parts:  # nothing waits from here on until it is narrowed
                part = self.parts[filters] = copy(self)
                part.finder = finder
                part.parts = {}
                self._narrow(filters)
                part.changes()
        return self.parts[filters]

    def _find_in_part(self, filters: Filters) -> Finder:
        """Return what searches the tools that pass filters, from now on as they are indexed."""
        with self._indexing:
            if filters not in self._finders:
                finder = self.finder.narrow()
                finder.use(self._indexed.narrow(filters))
                self._finders[filters] = finder
            return self._finders[filters]

    def index(self, listing: Listing) -> None:
        """Search a listing from now on; may be called in a thread, one at a time.

        Raises:
            InvalidRequest: one of its tools is none.
        """
        with self._indexing:
            self._indexed = listing
            self.finder.use(listing)
            for filters, finder in self._finders.items():
                finder.use(listing.narrow(filters))

    def _narrow(self, filters: Filters) -> None:
        """Show a part what passes its filters, of the servers that it sees a tool of, or names."""
        config = self.config
        listing = self.listing.narrow(filters)
        servers = {one.connection.name for one in listing.tools.values()}
        if filters.namespaces:
            named = Filters(namespaces=filters.namespaces)
            spaces = [Tool(name, namespace=name) for name in config.servers]
            servers |= {one.name for one in spaces if is_passing(one, named, load_bundled())}
        highest = min(config.options.max_risk, filters.max_risk or "destructive", key=LEVELS.index)
        part = self.parts[filters]
        part.connections = [one for one in self.connections if one.name in servers]
        shown = {name: one for name, one in config.servers.items() if name in servers}
        options = replace(config.options, max_risk=highest)
        seen = replace(config, servers=shown, options=options, warnings=(), disabled=())
        part.use(seen, listing)

    def use(self, config: Config, listing: Listing) -> None:
        """See what a configuration permits of a listing from now on."""
        self.config = config
        self.listing = listing
        self.tools = listing.tools
        overlay = config.overlay.of("")
        names = [
            *match_names(config.options.pinned, self.tools),
            *(name for name in self.tools if overlay.find_row(name).pin),
            *find_always_loaded(self.tools),
        ]
        pinned = [self.tools[name] for name in dict.fromkeys(names)]
        self.pinned = [one for one in pinned if not is_refused_by_all(one.refusals())]
        """The tools to list as themselves, in the configured order.

        One that every provider refuses is not listed: the host's whole request would fail.
        """
        for filters in self.parts:
            self._narrow(filters)

    def max_chars(self, connection: Connection) -> int:
        """Return how many characters of text of a server's result are passed on; 0 for all."""
        own = connection.server.max_result_chars
        return self.config.options.max_result_chars if own is None else own

    async def settle(self, server: str = "", *, is_called: bool = False) -> None:
        """Wait a while for servers that start: one, or all.

        One that is called is also waited for if it has said that its list has changed.
        """
        waiting = (
            one.settle() if is_called else one.tried.wait() for one in self.connections_of(server)
        )
        with suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                await self.begun.wait()
                await asyncio.gather(*waiting)

    def status(self) -> list[str]:
        """Return the state of each server in a line."""
        counts = Counter(one.connection.name for one in self.tools.values())
        left_out = self.listing.left_out
        lines = [
            _write_line(one, counts[one.name], left_out.get(one.name)) for one in self.connections
        ]
        return lines + [f"{name}: {DISABLED}" for name in self.config.disabled]

    def find_disabled(self, written: str) -> list[str]:
        """Return the disabled servers whose name a written name of a tool begins with."""
        letters = make_key(find_prefix(written))
        return [name for name in self.config.disabled if letters.startswith(make_key(name))]

    def prefix_of(self, written: str) -> str:
        """Return the prefix of the server that a written name begins with, or ""."""
        letters = make_key(find_prefix(written))
        spelled = letters, drop_host(letters)
        fitting = [
            one.name
            for one in self.connections
            if any(form.startswith(make_key(one.name)) for form in spelled)
        ]
        return max(fitting, key=len, default="")

    def connections_of(self, server: str) -> list[Connection]:
        """Return the connection to a server, named in any case; to all for ""."""
        return [one for one in self.connections if server.casefold() in ("", one.name.casefold())]

    def unavailable(self, server: str = "") -> dict[str, str]:
        """Return why servers are unavailable, by their names; of one in any case, or of all."""
        return {
            one.name: one.reason for one in self.connections_of(server) if one.reason is not None
        }

    def starting(self, server: str = "") -> list[str]:
        """Return the names of servers that were not tried yet; of one in any case, or of all."""
        return [one.name for one in self.connections_of(server) if not one.tried.is_set()]

    async def call(
        self, session: HostSession, name: str, arguments: dict[str, Any], progress: ProgressFnT
    ) -> mcp_types.CallToolResult:
        """Call a tool by its whole name.

        Raises:
            CallError: its server cannot be reached.
            MCPError: its server refused the call.
        """
        connection, tool, *_ = self.tools[name]
        result = await connection.request(
            "call_tool", tool.name, arguments, progress_callback=progress
        )
        finding = (one for one in reversed(session.searches) if name in one.names)
        if (search := next(finding, None)) is not None:
            await self.finder.learn(search.query, name, not result.is_error, search.id)
        result = rename(connection.name, result)
        return self.results.cut(session, result, self.max_chars(connection))

    async def read(self, session: HostSession, uri: str) -> mcp_types.ReadResourceResult | None:
        """Read a resource, of a server or the gateway's own; None if there is none to read.

        Raises:
            CallError: its server cannot be reached.
            MCPError: its server refused, or a result is not kept for this session.
        """
        if is_result(uri):
            return self.results.read(session, uri)
        if uri not in (OVERVIEW, INDEX):
            return await texts.read(self.connections, uri)
        await self.ready.wait()
        catalog = self.finder.catalog
        tools = self.tools
        rows = [catalog.rows[name] for name in sorted(tools) if name in catalog.rows]
        if uri == OVERVIEW:
            return make_result(uri, pages.describe(catalog, rows))
        lines = await asyncio.to_thread(lambda: list(pages.index(catalog, rows)))
        return make_result(uri, "\n".join(f"{name}: {summary}" for name, summary in lines))

    def changes(self) -> list[bool]:
        """Return whether tools have changed for hosts since the last time, and whether texts."""
        previous = self._told
        self._told = self._listed()
        return [old != new for old, new in zip(previous, self._told, strict=True)]

    def compare(self, other: "View") -> list[bool]:
        """Return whether another view lists other tools for hosts, and whether other texts."""
        return [one != two for one, two in zip(self._listed(), other._listed(), strict=True)]

    def _listed(self) -> tuple[object, object]:
        """Return what hosts list, of tools, and of resources and prompts."""
        servers = list(self.config.servers)
        options = self.config.options
        pinned = [(one.shown, self.max_chars(one.connection) > 0) for one in self.pinned]
        tools = servers, options.max_risk, options.all_meta_tools, pinned
        return tools, [texts.list_entries(self.connections, kind) for kind in KINDS]


def _write_line(server: Connection, count: int, left_out: str | None) -> str:
    """Return the state of a server that offers some tools, in a line."""
    tools = write_count(count, "tool")
    line = f"{server.name}: {'starts when called' if server.is_asleep else 'answers'}, {tools}"
    if server.reason is not None:
        kept = f"; {tools} of its last list cannot be called" if count else ""
        line = f"{server.name}: does not answer: {server.reason}{kept}"
    return f"{line}; left out: {left_out}" if left_out else line
