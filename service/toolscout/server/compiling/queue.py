"""Compiling beside the event loop: one flight per tool list, in threads that step aside.

The tenants take turns, and share the memory of the lists that wait.

What needs long native calls (sorting, FAISS) releases the interpreter lock by itself; the rest is
done in small pieces, with a breath between them.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from toolscout.errors import Overloaded
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.compile import Compiler
from toolscout.index.tool_list import ToolList
from toolscout.server.compiling.breathing import CompileBreath, ReadBreath, Urgency
from toolscout.server.http.fairness import FairPool, Shares, ahead

T = TypeVar("T")

PREPARED_LATER = 500
"""Tools up to which what only some questions need is made after the catalog can be used: should
one need it before, the event loop makes it in a millisecond."""

THREADS = 2
"""Compiles at a time: a huge catalog must not hold up a small one."""


class CompileJob:
    """A compile on its way; each future is set as soon as its stage is done.

    Where too much waits to be compiled, only the tools are read, and the later stages fail with
    `Overloaded`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.tools: asyncio.Future[ToolList] = loop.create_future()
        self.lexical: asyncio.Future[Catalog] = loop.create_future()
        self.complete: asyncio.Future[Catalog] = loop.create_future()
        for stage in (self.tools, self.lexical, self.complete):
            # A failed compile that nobody waits for any more is no unhandled error.
            stage.add_done_callback(lambda done: done.cancelled() or done.exception())


class CompileQueue:
    """Starts compiles and shares those that are under way."""

    def __init__(  # noqa: PLR0913  # parts that must not know each other
        self,
        compiler: Compiler,
        cache: CatalogCache,
        max_tools: int,
        max_waiting: int,
        urgency: Callable[[], Urgency],
        answering: Callable[[], bool],
        learn: Callable[[str, float], None],
        compiled: Callable[[str, Catalog], None],
    ) -> None:
        self._compiler = compiler
        self._cache = cache
        self._max_tools = max_tools
        self._waiting = Shares(max_waiting)
        """Bytes of lists that are read and not yet compiled."""
        self._lock = threading.Lock()
        self._urgency = urgency
        self._answering = answering
        self._learn = learn
        self._compiled = compiled
        self._jobs: dict[tuple[str, bytes], CompileJob] = {}
        self._readers = FairPool(THREADS, "read")
        self._compilers = FairPool(THREADS, "compile")

    def serve(self, tenants: int) -> None:
        """Share the queue between this many tenants at most."""
        with self._lock:
            self._waiting.tenants = tenants

    def start(self, tenant: str, raw_hash: bytes, raw: bytes) -> CompileJob:
        """The job that compiles these bytes of `tools`; joins the one under way, if any."""
        key = (tenant, raw_hash)
        job = self._jobs.get(key)
        if job is None:
            loop = asyncio.get_running_loop()
            job = self._jobs[key] = CompileJob(loop)
            job.complete.add_done_callback(lambda _: self._jobs.pop(key, None))
            self._readers.submit(tenant, self._read, loop, job, tenant, raw_hash, raw)
        return job

    def __len__(self) -> int:
        return len(self._jobs)

    def ahead(self, tenant: str) -> int:
        """Count the compiles until the last one of a tenant is done, as the tenants take turns."""
        return int(ahead(Counter(owner for owner, _ in self._jobs), tenant))

    def close(self) -> None:
        """Drop what has not begun; what runs ends with the process."""
        self._readers.close()
        self._compilers.close()

    def _read(
        self,
        loop: asyncio.AbstractEventLoop,
        job: CompileJob,
        tenant: str,
        raw_hash: bytes,
        raw: bytes,
    ) -> None:
        """Decode a list in a thread of its own kind: no compile may keep its caller waiting."""
        try:
            breathe = ReadBreath(self._answering)
            tools = ToolList.decode(raw, self._max_tools, breathe=breathe)
            self._cache.add_alias(tenant, raw_hash, tools)
            _set(loop, job.tools, tools)
            known = self._cache.by_digest(tenant, tools.digest)
            if known is not None:
                _set(loop, job.lexical, known)
                _set(loop, job.complete, known)
                return
            self._take(tenant, len(raw))
            self._compilers.submit(tenant, self._compile, loop, job, tenant, tools, len(raw))
        except Exception as error:
            _fail(loop, job, error)

    def _take(self, tenant: str, nbytes: int) -> None:
        """Make a list wait for its compile; one always may.

        Raises:
            Overloaded: those that wait take all the memory there is for it, or for this tenant.
        """
        with self._lock:
            if not self._waiting.take(tenant, nbytes):
                raise Overloaded("too many unknown tools wait to be compiled; try again shortly")

    def _compile(
        self,
        loop: asyncio.AbstractEventLoop,
        job: CompileJob,
        tenant: str,
        tools: ToolList,
        nbytes: int,
    ) -> None:
        began = time.perf_counter()
        try:
            breathe = CompileBreath(self._urgency)
            store = self._cache.tools(tenant)
            lexical, compiled = self._compiler.lexical(tools, store, breathe)
            large = len(lexical) > PREPARED_LATER
            if large:
                lexical.prepare(breathe)
            _set(loop, job.lexical, lexical)
            catalog = self._compiler.embed(lexical, compiled, breathe)
            self._cache.add(tenant, catalog)
            spent = (time.perf_counter() - began) * 1_000 / max(len(catalog), 1)
            loop.call_soon_threadsafe(self._learn, "compile", spent)
            loop.call_soon_threadsafe(self._compiled, tenant, catalog)
            _set(loop, job.complete, catalog)
            if not large:
                catalog.prepare(breathe)
        except Exception as error:
            _fail(loop, job, error)
        finally:
            with self._lock:
                self._waiting.give(tenant, nbytes)


def _set(loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], value: T) -> None:
    def settle() -> None:
        if not future.done():
            future.set_result(value)

    loop.call_soon_threadsafe(settle)


def _fail(loop: asyncio.AbstractEventLoop, job: CompileJob, error: Exception) -> None:
    def settle() -> None:
        stages: tuple[asyncio.Future[Any], ...] = (job.tools, job.lexical, job.complete)
        for stage in stages:
            if not stage.done():
                stage.set_exception(error)

    loop.call_soon_threadsafe(settle)
