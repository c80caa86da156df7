"""The gateway: connections to all servers, one list of their tools, and the views of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from threading import Lock

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.cache import NO_CACHE, ListCache
from toolscout.gateway.mcp.connection import Connection
from toolscout.gateway.mcp.keys import HostKeys
from toolscout.gateway.mcp.listing import Listing, explain_missing_pins, explain_refused_pins
from toolscout.gateway.mcp.log import logger
from toolscout.gateway.mcp.pins import DefinitionPins, SeenTools
from toolscout.gateway.mcp.requests import Requests
from toolscout.gateway.mcp.servers import Config
from toolscout.gateway.mcp.view import View
from toolscout.serving.connections import cancel_until_done

FOLLOW_S = 1.0
"""Seconds between two looks at the files of the configuration and the overlay."""

MAX_LOGGED = 20
"""Changed tools that are logged each."""


class Gateway:
    """All servers of a configuration; `running` must be entered first.

    Raises:
        ConfigurationError: there is no such store.
    """

    def __init__(
        self,
        config: Config,
        store: str = "memory",
        pins: DefinitionPins | None = None,
        cache: ListCache = NO_CACHE,
        changed: Callable[[bool], Config | None] = lambda _: None,
        keys: HostKeys | None = None,
    ) -> None:
        self.pins = pins
        """The definitions that are accepted; None accepts all."""
        self.cache = cache
        """The lists of servers that do not run."""
        self.changed = changed
        """Looks at the files; returns the configuration if they have changed, and stay so.

        It is told whether somebody says that they are written.
        """
        self.view = View(config, store)
        """What hosts see."""
        self.keys = keys
        """Those of hosts over HTTP that see different tools."""
        self.hosts = Requests(self.view, is_keyed=keys is not None)
        """Who see it."""
        self.view.connections = [self._connection(name) for name in config.servers]
        self._seen = SeenTools(self.pins)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """Those of the connections, by the names of their servers."""
        self._lock = asyncio.Lock()
        self._listing = Lock()
        self._is_stale = False
        self._written = asyncio.Event()
        """Set to look at the files at once."""

    def read_files(self) -> None:
        """Read all files now: somebody says that they are written."""
        self._written.set()
        if self.keys is not None:
            self.keys.files.check()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the servers connected."""
        self._run(self.view.connections)
        coroutines = [self.view.finder.follow(), self._start(), self._follow()]
        if self.keys is not None:
            coroutines += [self.keys.files.follow(), self._follow_keys(self.keys)]
        tasks = [asyncio.create_task(one) for one in coroutines]
        try:
            yield
        finally:
            await asyncio.gather(*map(cancel_until_done, tasks))
            await asyncio.gather(*map(cancel_until_done, self._tasks.values()))
            await self.view.finder.close()

    async def _start(self) -> None:
        if starting := [one.name for one in self.view.connections if not one.tried.is_set()]:
            logger.info("listing the tools of %s", ", ".join(starting))
        await self._note_change()
        self.view.begun.set()
        await self.view.settle()
        self.view.ready.set()
        pinned = self.view.config.options.pinned
        listing = self.view.listing
        for line in [
            *explain_missing_pins(pinned, listing),
            *explain_refused_pins(pinned, listing.tools),
        ]:
            logger.warning("%s", line)

    async def _follow(self) -> None:
        """Apply what changes in the files of configuration and overlay, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(FOLLOW_S):
                    await self._written.wait()
            is_written = self._written.is_set()
            self._written.clear()
            try:
                config = await asyncio.to_thread(self.changed, is_written)
                if config is not None:
                    await self._use(config)
            except ConfigurationError as error:
                logger.error("the servers are left as they were: %s", error.detail)
            except Exception as error:  # the next change must be applied all the same
                logger.error("the configuration was not applied: %s", type(error).__name__)

    async def _follow_keys(self, keys: HostKeys) -> None:
        """Tell hosts what a change of their keys changes for them, until cancelled."""
        while True:
            await keys.changed.wait()
            keys.changed.clear()
            try:
                await self.hosts.use_keys(keys.keyring)
            except Exception as error:  # each request looks at its key anyway
                logger.error("hosts were not told of changed keys: %s", type(error).__name__)

    async def _use(self, config: Config) -> None:
        """Start servers that are new or have changed, end those that are gone; leave the others."""
        before = {one.name: one for one in self.view.connections}
        kept = {name: one for name, one in before.items() if config.servers.get(name) == one.server}
        self.view.connections = list(kept.values())
        self.view.use(config, self.view.listing)
        await self._note_change()  # nobody finds what is about to end
        gone = [name for name in before if name not in kept]
        for name in gone:
            before[name].reason = "it has been taken out of the configuration"
            before[name].comes_back = False
        await asyncio.gather(*(cancel_until_done(self._tasks.pop(name)) for name in gone))
        new = {name: self._connection(name) for name in config.servers if name not in kept}
        self.view.connections = [(kept | new)[name] for name in config.servers]
        self._run(new.values())
        await self._note_change()
        for warning in config.warnings:
            logger.warning("%s", warning)
        lines = {"started": list(new), "ended": gone}
        what = "; ".join(f"{how}: {', '.join(names)}" for how, names in lines.items() if names)
        logger.info("the configuration has changed%s", f"; {what}" if what else "")

    def _connection(self, name: str) -> Connection:
        server = self.view.config.servers[name]
        return Connection(name, server, self._note_change, self.cache, self.hosts.log)

    def _run(self, connections: Iterable[Connection]) -> None:
        self._tasks |= {one.name: asyncio.create_task(one.run()) for one in connections}

    async def _note_change(self) -> None:
        """Read the lists of all servers again; changes that come meanwhile are taken together."""
        self._is_stale = True
        async with self._lock:
            if not self._is_stale:
                return
            self._is_stale = False
            try:
                listing = await asyncio.to_thread(self._listed)
            except Exception as error:  # one server's tools must not end the others' connections
                detail = getattr(error, "detail", type(error).__name__)
                logger.error("the tools are left as they were: %s", detail)
                return
        self.view.use(self.view.config, listing)
        await self.hosts.notify()

    def _listed(self) -> Listing:
        """Read the lists of all servers and compile them, in a thread."""
        with self._listing:  # a thread goes on when who waits for it is cancelled
            return self._read_lists()

    def _read_lists(self) -> Listing:
        if self.pins is not None:
            self.pins.reload()
        config = self.view.config
        listing = Listing(self.view.connections, config, self._seen)
        for line in listing.changes[:MAX_LOGGED]:
            logger.warning("%s", line)
        if (rest := len(listing.changes) - MAX_LOGGED) > 0:
            logger.warning("%d more tools have changed", rest)
        for name, why in listing.left_out.items():
            if why != self.view.listing.left_out.get(name):
                logger.warning("%s: left out: %s", name, why)
        self.view.index(listing)
        if self.pins is not None:
            try:
                for line in self.pins.save():
                    logger.info("pinned %s", line)
            except ConfigurationError as error:  # what was accepted holds for this process anyway
                logger.error("%s", error.detail)
        return listing
