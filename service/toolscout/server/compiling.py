"""Compiling beside the event loop: one flight per tool list, in threads that step aside.

A compile is Python and holds the interpreter lock, so its thread pauses after every fraction of
a millisecond while requests are in flight: a warm answer waits for one such slice at most. What
needs long native calls (sorting, FAISS) releases the lock by itself.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from toolscout.catalog.cache import CatalogueCache
from toolscout.catalog.catalogue import Catalogue
from toolscout.catalog.compile import Compiler
from toolscout.catalog.toollist import ToolList

T = TypeVar("T")

THREADS = 2
"""Compiles at a time: a huge catalogue must not hold up a small one."""

SLICE_S = 0.0003
"""How long a compile runs before it offers the lock to others."""

PAUSE_S = 0.00005
"""The pause: just long enough for a waiting thread to wake and take the lock."""


class CompileJob:
    """A compile on its way; each future is set as soon as its stage is done."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.tools: asyncio.Future[ToolList] = loop.create_future()
        self.lexical: asyncio.Future[Catalogue] = loop.create_future()
        self.complete: asyncio.Future[Catalogue] = loop.create_future()
        for stage in (self.tools, self.lexical, self.complete):
            # A failed compile that nobody waits for any more is no unhandled error.
            stage.add_done_callback(lambda done: done.cancelled() or done.exception())


class CompileQueue:
    """Starts compiles and shares those that are under way."""

    def __init__(
        self,
        compiler: Compiler,
        cache: CatalogueCache,
        max_tools: int,
        others_wait: Callable[[], bool],
    ) -> None:
        self._compiler = compiler
        self._cache = cache
        self._max_tools = max_tools
        self._others_wait = others_wait
        self._jobs: dict[tuple[str, bytes], CompileJob] = {}
        self._threads = ThreadPoolExecutor(THREADS, "compile")

    def start(self, tenant: str, raw_hash: bytes, raw: bytes) -> CompileJob:
        """The job that compiles these bytes of `tools`; joins the one under way, if any."""
        key = (tenant, raw_hash)
        job = self._jobs.get(key)
        if job is None:
            loop = asyncio.get_running_loop()
            job = self._jobs[key] = CompileJob(loop)
            job.complete.add_done_callback(lambda _: self._jobs.pop(key, None))
            self._threads.submit(self._run, loop, job, tenant, raw_hash, raw)
        return job

    def __len__(self) -> int:
        return len(self._jobs)

    def close(self) -> None:
        """Drop what has not begun; what runs ends with the process."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _run(
        self,
        loop: asyncio.AbstractEventLoop,
        job: CompileJob,
        tenant: str,
        raw_hash: bytes,
        raw: bytes,
    ) -> None:
        try:
            tools = ToolList.decode(raw, self._max_tools)
            _set(loop, job.tools, tools)
            catalogue = self._cache.by_digest(tenant, tools.digest)
            if catalogue is None:
                breathe = _Breath(self._others_wait)
                store = self._cache.tools(tenant)
                lexical, compiled = self._compiler.lexical(tools, store, breathe)
                _set(loop, job.lexical, lexical)
                catalogue = self._compiler.embed(lexical, compiled, breathe)
                self._cache.add(tenant, catalogue)
            else:
                _set(loop, job.lexical, catalogue)
            self._cache.add_alias(tenant, raw_hash, tools)
            _set(loop, job.complete, catalogue)
        except Exception as error:
            for stage in (job.tools, job.lexical, job.complete):
                _fail(loop, stage, error)


class _Breath:
    """Called after every small piece of a compile; pauses when others want the lock."""

    def __init__(self, others_wait: Callable[[], bool]) -> None:
        self._others_wait = others_wait
        self._since = time.perf_counter()

    def __call__(self) -> None:
        now = time.perf_counter()
        if now - self._since >= SLICE_S:
            if self._others_wait():
                time.sleep(PAUSE_S)
            self._since = time.perf_counter()


def _set(loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], value: T) -> None:
    def settle() -> None:
        if not future.done():
            future.set_result(value)

    loop.call_soon_threadsafe(settle)


def _fail(loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], error: Exception) -> None:
    def settle() -> None:
        if not future.done():
            future.set_exception(error)

    loop.call_soon_threadsafe(settle)
