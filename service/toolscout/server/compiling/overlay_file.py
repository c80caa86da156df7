"""The file with the operator's overlay: it is followed, and what is compiled follows it.

A list that is compiled with former rows answers by them until it is compiled anew, but for what a
key with filters sees: which tools that are can depend on the rows, so it is forgotten at once.
"""

import asyncio
from pathlib import Path

from prometheus_client import Counter, Gauge

from toolscout.errors import ConfigurationError, ToolscoutError
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.server.compiling.queue import CompileQueue
from toolscout.serving.connections import Events
from toolscout.serving.followed_files import FollowedFiles
from toolscout.tools.filters import filters_of
from toolscout.tools.overlay import Overlay, parse_overlay
from toolscout.tools.overlay_rows import read_overlay_text

MAX_SHOWN_ROWS = 1_000
"""Rows of which the metrics say whether they were for any tool."""


class OverlayFile:
    """The overlay of a process, from its file.

    Raises:
        ConfigurationError: the file cannot be read, or has another form.
    """

    def __init__(  # the parts that it joins
        self,
        path: Path,
        compiles: CompileQueue,
        cache: CatalogCache,
        log: Events,
        changes: Counter,
        used: Gauge,
    ) -> None:
        self.path = path
        self.compiles = compiles
        self.cache = cache
        self.log = log
        self.changes = changes
        """Counts each change: `ok` or `refused`."""
        self.used = used
        """Tells of each row whether it was for any tool."""
        text = read_overlay_text(path)
        self._recompiling: asyncio.Task[None] | None = None
        self._start(text, parse_overlay(text, str(path)))
        compiles.on_kept = self._note
        self.files: FollowedFiles[str | None] = FollowedFiles(self._read, self._use, text)
        self._using = asyncio.Lock()
        self._applying: asyncio.Task[None] | None = None

    def _read(self) -> str | None:
        """Return what the file says; None where it cannot be read."""
        try:
            return read_overlay_text(self.path)
        except ConfigurationError:
            return None

    def _use(self, text: str | None) -> None:
        """Use what the file says now, once it is read, if that is right."""
        self._applying = asyncio.create_task(self._apply(text))

    async def _apply(self, text: str | None) -> None:
        async with self._using:
            try:
                said, overlay = await asyncio.to_thread(self._parse, text)
            except ConfigurationError as error:
                self._refuse(error.detail)
            except Exception as error:  # the next one is read anyway
                self._refuse(type(error).__name__)
            else:
                self._start(said, overlay)
                self.changes.labels("ok").inc()
                self.log.info("overlay_changed", rows=len(overlay.rows))

    def _refuse(self, reason: str) -> None:
        self.changes.labels("refused").inc()
        self.log.error("overlay_kept", reason=reason)

    def _parse(self, text: str | None) -> tuple[str, Overlay]:
        """Return a text with its rows, which take half a second where they are thousands.

        Raises:
            ConfigurationError: it has another form; None is a file that cannot be read.
        """
        text = read_overlay_text(self.path) if text is None else text
        return text, parse_overlay(text, str(self.path))

    def _start(self, text: str, overlay: Overlay) -> None:
        self.compiles.use_overlay(text, overlay)
        self.used.clear()
        for number in range(1, min(len(overlay.rows), MAX_SHOWN_ROWS) + 1):
            self.used.labels(number).set(0)
        for space, catalog in self.cache.list_catalogs():
            self._note(space, catalog)

    def _note(self, space: str, catalog: Catalog) -> None:
        """Note which rows a compiled list uses; one that used former rows is compiled anew."""
        if self.compiles.is_outdated(space, catalog):
            if filters_of(space) is not None:
                self.cache.drop(space, catalog.digest)
            else:
                self._recompile_soon()
            return
        numbers = {number for tool in catalog.adjusted.tools.values() for number in tool.numbers}
        for number in numbers:
            if number <= MAX_SHOWN_ROWS:
                self.used.labels(number).set(1)

    def _recompile_soon(self) -> None:
        if self._recompiling is None or self._recompiling.done():
            self._recompiling = asyncio.create_task(self._recompile())

    async def _recompile(self) -> None:
        """Compile what was compiled with former rows, until nothing is."""
        while outdated := self._find_outdated():
            for space, catalog in outdated:
                if catalog.skipped:
                    self.cache.drop(space, catalog.digest)
            for space, catalog in outdated:
                if self.cache.has_digest(space, catalog.digest):
                    await self._recompile_one(space, catalog)

    async def _recompile_one(self, space: str, catalog: Catalog) -> None:
        """Compile a list anew; one that cannot be is forgotten, and compiled when it is sent."""
        try:
            made = await self.compiles.recompile(space, catalog)
        except Exception as error:
            detail = error.detail if isinstance(error, ToolscoutError) else type(error).__name__
            self.log.warning("overlay_not_applied", detail=detail)
            self.cache.drop(space, catalog.digest)
            return
        if made.digest != catalog.digest:
            self.cache.drop(space, catalog.digest)

    def _find_outdated(self) -> list[tuple[str, Catalog]]:
        return [pair for pair in self.cache.list_catalogs() if self.compiles.is_outdated(*pair)]
