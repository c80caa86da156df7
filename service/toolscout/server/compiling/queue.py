"""Compiling beside the event loop, in another process: one flight per tool list.

The tenants take turns there, and share the bytes of the lists that wait, and the seconds.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from math import inf
from typing import Any, TypeVar

from toolscout.common.fairness import Shares, ahead
from toolscout.engine import Engine
from toolscout.errors import Overloaded, TooMuchWork
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.packing import unpack
from toolscout.ranking.ladder import Costs
from toolscout.server.compiling.fork_server import ForkServer
from toolscout.server.compiling.link import Link
from toolscout.server.compiling.messages import (
    Call,
    Compile,
    Complete,
    Encode,
    EncodeQuery,
    Failed,
    Lexical,
    Listing,
    Read,
    Returned,
    Sent,
    Setup,
)
from toolscout.server.compiling.work_threads import DEADLINE_S, MOST_WAITING
from toolscout.server.compiling.worker import work_with

T = TypeVar("T")

MAX_WAIT_MS = 10_000
"""Total expected compile time that may queue, in milliseconds. Lists beyond it are compiled when
they are sent again."""


class CompileJob:
    """A compile on its way; each future is set as soon as its stage is done.

    Where too much waits to be compiled, only the tools are read, and the later stages fail with
    `Overloaded`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, sent: Sent) -> None:
        self.sent = sent
        self.patience_ms = 0.0
        """How long somebody waits for it."""
        self.room = 0, 0
        """Bytes and milliseconds that it takes of what may wait."""
        self.found: Catalog | None = None
        """The catalog as far as its words go."""
        self.listing: asyncio.Future[Listing] = loop.create_future()
        self.lexical: asyncio.Future[Catalog] = loop.create_future()
        self.complete: asyncio.Future[Catalog] = loop.create_future()
        for stage in self.stages:
            # A failed compile that nobody waits for any more is no unhandled error.
            stage.add_done_callback(lambda done: done.cancelled() or done.exception())

    @property
    def stages(self) -> tuple[asyncio.Future[Any], ...]:
        """All futures, in order."""
        return self.listing, self.lexical, self.complete


class CompileQueue:
    """Starts compiles and shares those that are under way."""

    def __init__(  # noqa: PLR0913  # parts that must not know each other
        self,
        engine: Engine,
        cache: CatalogCache,
        setup: Setup,
        max_waiting: int,
        costs: Costs,
        compiled: Callable[[str, Catalog], None],
        restarted: Callable[[], object],
    ) -> None:
        self._compiler = engine.compiler
        self._cache = cache
        self._bytes = Shares(max_waiting)
        self._ms = Shares(MAX_WAIT_MS)
        """Of lists that are read and not yet compiled."""
        self._lock = threading.Lock()
        self._costs = costs
        self._compiled = compiled
        self._jobs: dict[tuple[str, bytes], CompileJob] = {}
        self._calls = 0
        self._loop: asyncio.AbstractEventLoop
        self._link = Link(ForkServer(work_with(engine, setup)), setup, restarted)

    def open(self) -> None:
        """Start the worker; call from the running loop."""
        self._loop = asyncio.get_running_loop()
        self._link.open()

    def close(self) -> None:
        """End the worker, and with it everything that runs there."""
        self._link.close()

    def check_health(self) -> None:
        """Replace a worker that hangs; to be called now and then."""
        self._link.check_health()

    def serve(self, tenants: int) -> None:
        """Share the queue between this many tenants at most."""
        with self._lock:
            self._bytes.tenants = self._ms.tenants = tenants

    def start(
        self, tenant: str, raw_hash: bytes, raw: bytes, patience_ms: float = inf
    ) -> CompileJob:
        """Return the job that compiles these bytes of `tools`; joins the one under way, if any.

        It is waited for so many milliseconds.
        """
        key = (tenant, raw_hash)
        job = self._jobs.get(key)
        if job is None:
            job = CompileJob(self._loop, Sent.of(tenant, raw_hash, raw))
            job.patience_ms = patience_ms
            self._jobs[key] = job
            job.complete.add_done_callback(lambda _: self._jobs.pop(key, None))
            self._ask(job, Read(job.sent))
        job.patience_ms = max(job.patience_ms, patience_ms)
        return job

    async def run(self, tenant: str, work: Callable[..., T], *args: Any) -> T:
        """Call a function in the worker; it is given the worker first.

        Raises:
            TooMuchWork: too many calls wait, or it took longer than `DEADLINE_S`.
        """
        if self._calls >= MOST_WAITING:
            raise TooMuchWork("too much work waits for a thread; try again shortly")
        self._calls += 1
        try:
            found: T = await self.ask(Call(tenant, work, args), DEADLINE_S)
            return found
        finally:
            self._calls -= 1

    async def ask(self, message: Call | Encode | EncodeQuery, seconds: float) -> Any:
        """Ask the worker for what it returns.

        Raises:
            TooMuchWork: it took longer than so many seconds.
        """
        returned: asyncio.Future[Any] = self._loop.create_future()

        def on_reply(reply: Any) -> None:
            match reply:
                case Returned(value):
                    self._settle(returned, value)
                case Failed(error):
                    self._fail(error, returned)

        number = self._link.ask(message, on_reply)
        try:
            async with asyncio.timeout(seconds):
                return await returned
        except TimeoutError:
            raise TooMuchWork("the work took too long; send less") from None
        finally:
            self._link.abandon(number)

    def __len__(self) -> int:
        return len(self._jobs)

    def ahead(self, tenant: str) -> int:
        """Count the compiles until the last one of a tenant is done, as the tenants take turns."""
        return int(ahead(Counter(owner for owner, _ in self._jobs), tenant))

    def _ask(self, job: CompileJob, message: Read | Compile) -> None:
        try:
            self._link.ask(message, lambda reply: self._on_reply(job, reply))
        except Overloaded as error:
            self._on_reply(job, Failed(error))

    def _on_reply(self, job: CompileJob, reply: Any) -> None:
        match reply:
            case Listing():
                self._on_listing(job, reply)
            case Lexical(packed):
                job.found = unpack(packed, self._compiler)
                self._settle(job.lexical, job.found)
            case Complete():
                self._on_complete(job, reply)
            case Failed(error):
                self._end(job)
                self._fail(error, *job.stages)

    def _on_listing(self, job: CompileJob, listing: Listing) -> None:
        tenant = job.sent.tenant
        self._cache.add_alias(tenant, job.sent.raw_hash, listing)
        self._settle(job.listing, listing)
        known = self._cache.by_digest(tenant, listing.digest)
        if known is None and self._has_room(job, listing):
            self._ask(job, Compile(job.sent))
            return
        if known is None:
            error = Overloaded("too many unknown tools wait to be compiled; try again shortly")
            self._fail(error, job.lexical, job.complete)
        else:
            self._settle(job.lexical, known)
            self._settle(job.complete, known)

    def _on_complete(self, job: CompileJob, reply: Complete) -> None:
        self._end(job)
        catalog = job.found
        assert catalog is not None
        if reply.vectors is not None:
            catalog = catalog.with_vectors(*reply.vectors)
        tenant = job.sent.tenant
        self._cache.add(tenant, catalog)
        self._loop.call_soon_threadsafe(self._costs.learn, "compile", reply.spent)
        self._loop.call_soon_threadsafe(self._compiled, tenant, catalog)
        self._settle(job.complete, catalog)

    def _has_room(self, job: CompileJob, listing: Listing) -> bool:
        """Take the room that a list needs to wait for its compile; one always may."""
        tenant, size = job.sent.tenant, len(memoryview(job.sent.raw))
        spent = int(self._costs.expected("compile", listing.unique)) + 1
        with self._lock:
            if not self._bytes.take(tenant, size):
                return False
            if not self._ms.take(tenant, spent):
                if job.patience_ms < self._ms.used + spent:
                    self._bytes.give(tenant, size)
                    return False
                spent = 0
        job.room = size, spent
        return True

    def _end(self, job: CompileJob) -> None:
        size, spent = job.room
        job.room = 0, 0
        if size:
            with self._lock:
                self._bytes.give(job.sent.tenant, size)
                self._ms.give(job.sent.tenant, spent)

    def _settle(self, future: "asyncio.Future[T]", value: T) -> None:
        def settle() -> None:
            if not future.done():
                future.set_result(value)

        self._loop.call_soon_threadsafe(settle)

    def _fail(self, error: Exception, *stages: "asyncio.Future[Any]") -> None:
        def settle() -> None:
            for stage in stages:
                if not stage.done():
                    stage.set_exception(error)

        self._loop.call_soon_threadsafe(settle)
