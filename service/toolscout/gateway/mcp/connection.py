"""One server behind the gateway: connected, listed, watched, and connected again when it is lost.

    asleep: only its list is known ◄── nobody calls it
        │ called, or the list is old     │
    connecting ──► available: listed, checked when idle, listed again on `list_changed`
        ▲              │ lost, or its list cannot be read
        └── pause ◄────┘ unavailable: the last list is kept, calls wait for a start that is near

A server that runs on demand begins asleep if its list is in the cache.

Nothing here raises to the outside but cancellation; what is wrong is in `reason`.
"""

import asyncio
from contextlib import suppress
from math import inf
from typing import Any

import mcp_types
from mcp import MCPError
from mcp.client.session import LoggingFnT
from pydantic import ValidationError

from toolscout.common.counted import write_count
from toolscout.gateway.mcp.cache import MAX_AGE_S, NO_CACHE, ListCache, ToolPages
from toolscout.gateway.mcp.clients import Changed, Client, connect
from toolscout.gateway.mcp.failures import (
    PROCESS_ENDED,
    explain,
    find_flaw,
    is_lost,
    read_notes,
    redact,
)
from toolscout.gateway.mcp.log import logger
from toolscout.gateway.mcp.servers import FolderServer, Server, StdioServer
from toolscout.gateway.mcp.tool_pages import read_pages, read_texts
from toolscout.metatools.arguments import CallError

LIST_S = 60.0
"""Seconds to read all pages of a list of tools."""

CHECK_S = 15.0
"""Seconds between checks of an idle server."""

ANSWER_S = 15.0
"""Seconds for its answer to one."""

REFRESH_S = 300.0
"""Seconds after which a list is read again without a notification, unless its server says when."""

MIN_REFRESH_S = 10.0
"""Seconds for which a list is kept at least, whatever its server says."""

LOOK_S = 60.0
"""Seconds between two looks at folders; 5,000 skills take a second of CPU."""

START_S = 5.0
"""Seconds that lists after the start, and each search and call, wait for servers that start."""

PAUSE_S = 0.5
MAX_PAUSE_S = 30.0
"""Seconds before a lost server is connected again; they double with each failure in a row."""


LINGER_S = 60.0
"""Seconds for which a server runs on demand that was only started to read its list."""


class Connection:
    """The connection to one server, alive while `run` is running."""

    def __init__(
        self,
        name: str,
        server: Server,
        changed: Changed,
        cache: ListCache = NO_CACHE,
        pass_on: LoggingFnT | None = None,
    ) -> None:
        self.name = name
        """The prefix of its tools."""
        self.server = server
        self.changed = changed
        """Called when the list or the availability has changed."""
        self.cache = cache
        """Where lists are kept between processes."""
        self.pass_on = pass_on
        """Called with what the server logs."""
        self.listed = ToolPages()
        """The latest list that could be read."""
        self.is_asleep = False
        """Whether the server does not run, but would at a call."""
        self.reason: str | None = "it is still starting"
        """Why the server is unavailable; None if it is available."""
        self.comes_back = self.server.fault is None
        """Whether it is started again when it was lost."""
        self.last_words = ""
        """How its process has ended, and what it wrote last; for a person, not for a model."""
        self.tried = asyncio.Event()
        """Set when the first attempt is over."""
        self._client: Client | None = None
        self._calls = 0
        self._wake = asyncio.Event()
        self._is_stale = False
        self._is_current = asyncio.Event()
        """Set while its list was read since it last said that it has changed."""
        self._wanted = asyncio.Event()
        """Set by a call for as long as the server runs."""
        self._is_started = asyncio.Event()
        """Set when the attempt to start that a call waits for is over."""
        self._has_started = False
        """Whether the list was read since the latest start."""
        self._used_at = self._age_s = 0.0
        self._pause_s = PAUSE_S
        if self.server.fault is not None:
            self.reason = self.server.fault
            self._note_tried()
            return
        kept = self.cache.load(self.server)
        if kept is not None:
            self.listed, self._age_s = kept
            self.is_asleep = True
            self.reason = None
            self.tried.set()
            if self.server.start == "eager":
                self._wanted.set()

    async def run(self) -> None:
        """Keep the server connected until cancelled; return at once if it cannot be started."""
        if self.server.fault is not None:
            logger.warning("%s: unavailable: %s", self.name, self.reason)
            return
        try:
            while True:
                if self.is_asleep:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(MAX_AGE_S - self._age_s):
                            await self._wanted.wait()
                try:
                    await self._run_server()
                except Exception as error:
                    await self._pause_after(error)
        finally:
            self._note_tried()  # calls that wait for its start are answered

    async def _run_server(self) -> None:
        """Start the server, and follow it until it is stopped or lost."""
        self._has_started = False
        async with connect(self.name, self.server, self._note_change, self._log) as client:
            try:
                await self._list(client)
                self._has_started = True
                self._pause_s = PAUSE_S
                await self._follow(client)
            finally:
                self._client = None
                self._is_started.clear()
        logger.info("%s: stopped until it is called", self.name)

    async def _pause_after(self, error: Exception) -> None:
        """Tell that the server is unavailable, and wait before the next attempt."""
        self.reason = explain(error, self.server)
        self.is_asleep = False
        self.last_words = read_notes(error) if self.reason == PROCESS_ENDED else ""
        logger.warning("%s: unavailable: %s", self.name, self.reason)
        await self.changed()
        if not self._has_started:  # calls that came since it was lost wait on for the next start
            self._note_tried()
        self._is_current.set()  # nothing newer is to come
        near_s = min(self._pause_s, START_S)
        await asyncio.sleep(self._pause_s - near_s)
        self._is_started.clear()
        await asyncio.sleep(near_s)
        self._pause_s = min(2 * self._pause_s, MAX_PAUSE_S)

    async def wake(self) -> None:
        """Start the server if it is asleep; return when it is listed, or could not be started.

        One that is started again is waited for only for a while.
        """
        self._used_at = asyncio.get_running_loop().time()
        is_asleep = self.is_asleep
        if is_asleep and not self._wanted.is_set():
            self._is_started.clear()
            self._wanted.set()
        if is_asleep or self._client is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(None if is_asleep else START_S):
                    await self._is_started.wait()

    async def settle(self) -> None:
        """Wait until the server was tried, and its list is as it last said that it is."""
        await self.tried.wait()
        if self._client is not None:
            await self._is_current.wait()

    async def request(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Send a request by a method of the session; cancelling this cancels it at the server.

        Raises:
            CallError: the server cannot be reached, was lost during the call or talks nonsense.
            MCPError: the server refused the call.
        """
        client = self._client
        if client is None:
            raise CallError(f"{self.name} is unavailable: {self._explain_loss()}")
        self._calls += 1
        try:
            async with asyncio.timeout(self.server.timeout_s):
                ask = getattr(client, method)
                result = await ask(*arguments, **options, allow_input_required=True)
            if isinstance(result, mcp_types.InputRequiredResult):
                raise CallError(f"{self.name} asks its host something, which is refused")
            return result
        except TimeoutError:
            limit = f"{self.server.timeout_s:g} s"
            raise CallError(f"{self.name} did not answer within {limit}") from None
        except CallError:
            raise
        except Exception as error:
            if flaw := find_flaw(error):
                raise CallError(f"{self.name} gave an answer that {flaw}") from None
            if isinstance(error, MCPError) and not is_lost(error):
                self._wake.set()  # it may have lost the session, and say so in its own words
                refusal = error.error
                secrets = self.server.secrets
                text = redact(refusal.message, secrets)
                data = redact(refusal.data, secrets)
                raise MCPError(refusal.code, text, data) from None
            self._client = None
            self._is_started.clear()
            self.reason = explain(error, self.server)
            self._wake.set()
            raise CallError(
                f"{self.name} was lost during the call: {self._explain_loss()}"
            ) from None
        finally:
            self._calls -= 1
            self._used_at = asyncio.get_running_loop().time()

    def _explain_loss(self) -> str:
        """Return why the server is unavailable, and whether that passes."""
        why = self.reason or "its connection has ended"
        again = "started" if isinstance(self.server, StdioServer) else "connected"
        return f"{why}; it is being {again} again" if self.comes_back else why

    async def _list(self, client: Client) -> None:
        self._is_stale = False
        async with asyncio.timeout(LIST_S):
            capable = client.server_capabilities
            has_tools = capable is None or capable.tools is not None
            try:
                listed = await read_pages(client) if has_tools else ToolPages()
                listed = listed._replace(**await read_texts(client))
            except (ValidationError, MCPError) as error:
                if self._client is not client or not find_flaw(error):
                    raise
                logger.warning("%s: its list cannot be read; the last one is kept", self.name)
                listed = self.listed
        is_new = listed != self.listed or self.reason is not None
        self.listed = listed
        self.reason = None
        self._client = client
        self.is_asleep = False
        await asyncio.to_thread(self.cache.save, self.server, listed)
        if is_new:
            logger.info("%s: %s", self.name, write_count(len(listed.tools), "tool"))
            await self.changed()
        self._note_tried()
        if not self._is_stale:
            self._is_current.set()

    async def _follow(self, client: Client) -> None:
        """Read the list again when it has changed or is old; return when the server may stop.

        Raises:
            Exception: the server is lost.
        """
        clock = asyncio.get_running_loop().time
        started = clock()
        due = started + self._refresh_s()
        while True:
            idle_s = self._may_idle_s()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(CHECK_S, idle_s)):
                    await self._wake.wait()
            if not self._calls and clock() >= max(started, self._used_at) + idle_s:
                self.is_asleep = True
                self._age_s = 0.0
                self._wanted.clear()
                return
            self._wake.clear()
            is_due = self._is_stale or self._client is None or clock() >= due
            try:
                if is_due:
                    await self._list(client)
                    due = clock() + self._refresh_s()
                else:
                    await self._check(client)
            except TimeoutError:
                if not self._calls:
                    raise
                # A server that does one thing at a time is busy, not lost.
                self._is_stale = self._is_stale or is_due

    def _refresh_s(self) -> float:
        """Return the seconds after which the list is to be read again."""
        if isinstance(self.server, FolderServer):
            return LOOK_S
        ttl_s = self.listed.ttl_s
        return REFRESH_S if ttl_s is None else max(ttl_s, MIN_REFRESH_S)

    def _may_idle_s(self) -> float:
        """Return the seconds without a call after which the server is stopped."""
        if self.server.start == "eager":
            return inf
        if not self._used_at:
            return LINGER_S
        return self.server.idle_timeout_s or inf

    async def _check(self, client: Client) -> None:
        try:
            async with asyncio.timeout(ANSWER_S):
                await client.send_ping()
        except MCPError as error:
            if error.error.code != mcp_types.METHOD_NOT_FOUND:  # it answers, but knows no ping
                raise

    def _note_tried(self) -> None:
        self.tried.set()
        self._is_started.set()

    async def _log(self, params: mcp_types.LoggingMessageNotificationParams) -> None:
        if self.pass_on is not None:
            secrets = self.server.secrets
            data = redact(params.data, secrets)
            logger = redact(".".join(filter(None, (self.name, params.logger))), secrets)
            await self.pass_on(params.model_copy(update={"data": data, "logger": logger}))

    async def _note_change(self) -> None:
        self._is_stale = True
        self._is_current.clear()
        self._wake.set()
