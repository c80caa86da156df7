"""The gateway: connections to all servers, one list of their tools, searches and calls."""

import asyncio
import logging
import os
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import mcp_types

from toolscout.contract.fields import Outcome
from toolscout.contract.requests import Filters
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.cache import ListCache
from toolscout.gateway.mcp.connection import Connection, Progress, ended
from toolscout.gateway.mcp.finder import Finder
from toolscout.gateway.mcp.listing import Listing, Offered
from toolscout.gateway.mcp.pins import Known, Pins
from toolscout.gateway.mcp.servers import Config
from toolscout.gateway.mcp.skills import Skills
from toolscout.gateway.mcp.texts import Texts, renamed
from toolscout.index.tool_list import MAX_TOOLS
from toolscout.metatools.gate import RiskGate

START_S = 5.0
"""Seconds after the start that the first questions of a host wait for servers that are slow."""

FOLLOW_S = 1.0
"""Seconds between two looks at the file of the configuration."""

MAX_SEARCHES = 16
"""Latest searches of a session that a call may belong to."""

MAX_LOGGED = 20
"""Changed tools, and skills that cannot be read, that are logged each."""

logger = logging.getLogger("toolscout.mcp")


class Search(NamedTuple):
    """A search and what it found."""

    id: str
    query: str
    names: tuple[str, ...]


class Session:
    """What is remembered of one host's session; a gateway over stdio has one."""

    def __init__(self) -> None:
        self.peer: Any = None
        """The library's session, for notifications; None before its first list."""
        self.is_remembered = True
        """Whether all requests of this state are of one host."""
        self.read: set[str] = set()
        """The tokens of the definitions that were shown to it."""
        self._searches: deque[Search] = deque(maxlen=MAX_SEARCHES)

    def note_search(self, query: str, names: list[str]) -> None:
        """Remember what a search found."""
        self._searches.append(Search(os.urandom(8).hex(), query, tuple(names)))

    def search_for(self, name: str) -> Search | None:
        """Return the latest search that found a tool."""
        return next((one for one in reversed(self._searches) if name in one.names), None)


class Status(NamedTuple):
    """The state of a server."""

    name: str
    tools: int
    """How many of its tools are offered."""
    left_out: str | None
    """Which are left out, and why."""
    reason: str | None
    """Why it is unavailable; None if it is not."""
    is_asleep: bool
    """Whether it starts when it is called."""


class Gateway:
    """All servers of a configuration; `running` must be entered first.

    Args:
        config: the servers, and which of their tools to offer.
        store: where what was learned is kept: `memory`, or `sqlite:PATH`.
        pins: the definitions that are accepted; None accepts all.
        cache: the lists of servers that do not run.
        changed: returns the configuration if its file has changed since the last time.

    Raises:
        ConfigurationError: there is no such store.
    """

    def __init__(
        self,
        config: Config,
        store: str = "memory",
        pins: Pins | None = None,
        cache: ListCache | None = None,
        changed: Callable[[], Config | None] = lambda: None,
    ) -> None:
        self.config = config
        self.gate = RiskGate()
        self.listing = Listing()
        self.listeners: list[Any] = []
        """Called when what hosts list has changed."""
        self.text_listeners: list[Any] = []
        """Called when resources or prompts have changed."""
        self.log_listeners: list[Any] = []
        """Called with what a server logs."""
        self.finder = Finder(store)
        self.skills = Skills()
        self._known = Known(pins)
        self._cache = cache
        self._changed = changed
        self._connections = [self._connection(name) for name in config.servers]
        self.texts = Texts(lambda: self._connections)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """Those of the connections, by the names of their servers."""
        self._lock = asyncio.Lock()
        self._is_stale = False
        self._told: tuple[object, object] = (([], False), [])
        """What of tools, and of resources and prompts, hosts list."""
        self._ready = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the servers connected."""
        self._run(self._connections)
        coroutines = [self.finder.follow(), self._start(), self._follow()]
        tasks = [asyncio.create_task(one) for one in coroutines]
        try:
            yield
        finally:
            await asyncio.gather(*map(ended, tasks))
            await asyncio.gather(*map(ended, self._tasks.values()))
            await self.finder.close()

    async def ready(self) -> Listing:
        """Return the tools, as soon as every server was tried or the start has taken too long."""
        await self._ready.wait()
        return self.listing

    def pinned(self) -> Sequence[Offered]:
        """Return the tools to list as themselves, in the configured order."""
        tools = self.listing.tools
        return [tools[name] for name in self.config.options.pinned if name in tools]

    async def search(
        self, session: Session, query: str, count: int, filters: Filters | None
    ) -> tuple[list[str], Outcome]:
        """Return the names of tools and skills for a query, best first, and how well they fit."""
        await self.finder.prepare(query)
        found = self.finder.search(query, count, filters)
        # A tool may have gone since the search began.
        names = [
            name
            for name in found.names
            if name in self.listing.tools or name in self.skills.by_name
        ]
        session.note_search(query, names)
        return names, found.outcome

    def status(self) -> list[Status]:
        """Return the state of each server."""
        counts = Counter(one.connection.name for one in self.listing.tools.values())
        left_out = self.listing.left_out
        return [
            Status(one.name, counts[one.name], left_out.get(one.name), one.reason, one.is_asleep)
            for one in self._connections
        ]

    def unavailable(self, namespace: object = None) -> dict[str, str]:
        """Return why servers are unavailable, by their names; of all, or of one in any case."""
        wanted = namespace.casefold() if isinstance(namespace, str) and namespace else None
        return {
            one.name: one.reason
            for one in self._connections
            if one.reason is not None and wanted in (None, one.name.casefold())
        }

    async def wake(self, name: str) -> None:
        """Start the server of a tool, if it does not run; its tools may be others then."""
        await self.listing.tools[name].connection.wake()

    async def call(
        self, session: Session, name: str, arguments: dict[str, Any], progress: Progress
    ) -> mcp_types.CallToolResult:
        """Call a tool by its whole name.

        Raises:
            CallFailed: its server cannot be reached.
            MCPError: its server refused the call.
        """
        offered = self.listing.tools[name]
        connection = offered.connection
        result = await connection.call(offered.tool.name, arguments, progress)
        result = renamed(connection.name, result)
        search = session.search_for(name)
        if search is not None:
            await self.finder.learn(search.query, name, not result.is_error, search.id)
        return result

    async def read_skill(self, session: Session, name: str, path: str) -> str:
        """Return the text of a file of a skill.

        Raises:
            SkillError: there is no such skill, or no such file in its folder.
        """
        text = await asyncio.to_thread(self.skills.read, name, path)
        search = session.search_for(name)
        if search is not None:
            await self.finder.learn(search.query, name, True, search.id)
        return text

    async def _start(self) -> None:
        if starting := [one.name for one in self._connections if one.reason is not None]:
            logger.info("listing the tools of %s", ", ".join(starting))
        tried = [asyncio.create_task(one.tried.wait()) for one in self._connections]
        try:
            await asyncio.wait(tried, timeout=START_S)
        finally:
            for task in tried:
                task.cancel()
        await self._note_change()
        self._ready.set()
        for name in self.config.options.pinned:
            if name not in self.listing.tools:
                logger.warning("pinned: there is no tool %s now", name)

    async def _follow(self) -> None:
        """Apply what changes in the file of the configuration and in skills, until cancelled."""
        while True:
            await asyncio.sleep(FOLLOW_S)
            try:
                config = await asyncio.to_thread(self._changed)
            except ConfigurationError as error:
                logger.error("the servers are left as they were: %s", error.detail)
                continue
            if config is not None:
                await self._use(config)
            elif await asyncio.to_thread(self.skills.has_changed, self.config.options.skills):
                await self._note_change()

    async def _use(self, config: Config) -> None:
        """Start servers that are new or have changed, end those that are gone; leave the others."""
        before = {one.name: one for one in self._connections}
        kept = {name: one for name, one in before.items() if config.servers.get(name) == one.server}
        self.config, self._connections = config, list(kept.values())
        await self._note_change()  # nobody finds what is about to end
        gone = [name for name in before if name not in kept]
        for name in gone:
            before[name].reason = "it has been taken out of the configuration"
        await asyncio.gather(*(ended(self._tasks[name]) for name in gone))
        for name in gone:
            del self._tasks[name]
        new = {name: self._connection(name) for name in config.servers if name not in kept}
        self._connections = [(kept | new)[name] for name in config.servers]
        self._run(new.values())
        await self._note_change()
        for warning in config.warnings:
            logger.warning("%s", warning)
        lines = {"started": list(new), "ended": gone}
        what = "; ".join(f"{how}: {', '.join(names)}" for how, names in lines.items() if names)
        logger.info("the configuration has changed%s", f"; {what}" if what else "")
        await self._tell()  # search_tools names the servers

    def _connection(self, name: str) -> Connection:
        server = self.config.servers[name]
        return Connection(name, server, self._note_change, self._cache, self._log)

    def _run(self, connections: Iterable[Connection]) -> None:
        self._tasks |= {one.name: asyncio.create_task(one.run()) for one in connections}

    async def _tell(self) -> None:
        for listener in self.listeners:
            await listener()

    async def _log(self, message: mcp_types.LoggingMessageNotificationParams) -> None:
        for listener in self.log_listeners:
            await listener(message)

    async def _note_change(self) -> None:
        """Read the lists of all servers again; changes that come meanwhile are taken together."""
        self._is_stale = True
        async with self._lock:
            if not self._is_stale:
                return
            self._is_stale = False
            try:
                listed = asyncio.ensure_future(asyncio.to_thread(self._listed))
                try:
                    self.listing = await asyncio.shield(listed)
                except asyncio.CancelledError:  # the thread goes on, and must be the only one
                    self.listing = await listed
                    raise
            except Exception as error:  # one server's tools must not end the others' connections
                detail = getattr(error, "detail", type(error).__name__)
                logger.error("the tools are left as they were: %s", detail)
                return
        texts = self.texts.listed
        tools = [one.shown for one in self.pinned()], bool(self.skills.by_name)
        told, self._told = self._told, (tools, texts)
        if tools != told[0]:
            await self._tell()
        if texts != told[1]:
            for listener in self.text_listeners:
                await listener()

    def _listed(self) -> Listing:
        """Read the lists of all servers and compile them, in a thread."""
        pins = self._known.pins
        if pins is not None:
            pins.reload()
        listing = Listing(self._connections, self.config.options.max_risk, self._known)
        _log_some(listing.changes, "more tools have changed")
        for name, why in listing.left_out.items():
            if why != self.listing.left_out.get(name):
                logger.warning("%s: left out: %s", name, why)
        _log_some(self.skills.use(self.config.options.skills), "more skills are left out")
        skills = [one.document for one in self.skills.by_name.values()]
        room = MAX_TOOLS - len(listing.tools)
        if len(skills) > room:
            logger.warning("skills: only the first %d are found", room)
        self.finder.use([*listing.offer.everything, *skills[:room]])
        if pins is not None:
            try:
                for line in pins.save():
                    logger.info("pinned %s", line)
            except ConfigurationError as error:  # what was accepted holds for this process anyway
                logger.error("%s", error.detail)
        return listing


def _log_some(lines: Sequence[str], others: str) -> None:
    for line in lines[:MAX_LOGGED]:
        logger.warning("%s", line)
    if len(lines) > MAX_LOGGED:
        logger.warning("%d %s", len(lines) - MAX_LOGGED, others)
