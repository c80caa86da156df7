"""Compiling beside the event loop, in another process: one flight per tool list.

The tenants take turns there, and share the bytes of the lists that wait.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter
from typing import Any, TypeVar, cast

import msgspec

from toolscout.common.fairness import Shares, sum_ahead
from toolscout.common.lru import Lru
from toolscout.engine import Engine
from toolscout.errors import (
    NOT_JSON,
    Overloaded,
    TooLargeToKeep,
    ToolscoutError,
    TooMuchWork,
    WorkerUnavailable,
)
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.changed import make_catalog
from toolscout.ranking.ladder import Costs
from toolscout.server.compiling import work_threads, worker
from toolscout.server.compiling.link import Link, WorkerProcess
from toolscout.serving.connections import Events
from toolscout.settings import Settings
from toolscout.state.registry import SharedCatalogs
from toolscout.tools.conversion import NONE_SKIPPED
from toolscout.tools.filters import filters_of, tenant_of

T = TypeVar("T")

WAITING_SHARE = 8
MAX_WAITING_BYTES = 64 * 1024 * 1024
"""What part of the memory for compiled catalogs, on top of it, lists may take that wait for their
compile, and at most how much: some ten seconds of compiling. Lists beyond it are compiled when they
are sent again."""


TOO_LARGE_REMEMBERED = 1_024
"""Lists that are not compiled again because their catalog cannot be kept."""


class CompileJob:
    """A compile on its way; each future is set as soon as its stage is done.

    Where too much waits to be compiled, only the tools are read, and the later stages fail with
    `Overloaded`.
    """

    def __init__(self, sent: worker.SentList) -> None:
        loop = asyncio.get_running_loop()
        self.sent = sent
        self.task: asyncio.Task[None] | None = None
        self.listing: asyncio.Future[worker.CompiledList] = loop.create_future()
        self.lexical: asyncio.Future[Catalog] = loop.create_future()
        """The catalog as far as its words go."""
        self.complete: asyncio.Future[Catalog] = loop.create_future()
        self.is_hurried = False
        self.was_awaited = False
        """Whether a search that the former tools could answer has waited for these."""

    def fail(self, error: Exception) -> None:
        """Fail all stages that are not done."""
        for stage in (self.listing, self.lexical, self.complete):
            if not stage.done():
                stage.set_exception(error)
                stage.exception()  # where nobody waits any more, it is no unhandled error


def find_stage(job: CompileJob, ranker: str) -> "asyncio.Future[Catalog]":
    """Return the first stage of a compile that has all that a ranker needs."""
    return job.lexical if ranker in ("bm25", "regex") else job.complete


async def wait_for_best(
    job: CompileJob, stage: "asyncio.Future[Catalog]", deadline: float
) -> Catalog | None:
    """Wait for a stage until a time of `perf_counter`; return it, else the words if they are done.

    Raises:
        Exception: that of the stage, unless it is not queued or cannot be kept.
    """
    await asyncio.wait([stage], timeout=max(deadline - perf_counter(), 0.0))
    return get_finished(stage) or get_finished(job.lexical)


def get_finished(stage: "asyncio.Future[Catalog]") -> Catalog | None:
    """Return the result of a stage; None if it is not done, not queued, or cannot be kept."""
    if not stage.done() or isinstance(stage.exception(), Overloaded | TooLargeToKeep):
        return None
    return stage.result()


class CompileQueue:
    """Starts compiles and shares those that are under way."""

    def __init__(  # noqa: PLR0913  # the parts that it joins
        self,
        engine: Engine,
        cache: CatalogCache,
        settings: Settings,
        costs: Costs,
        log: Events,
        shared: SharedCatalogs | None = None,
        count_failure: Callable[[], object] = lambda: None,
    ) -> None:
        self.engine = engine
        self.cache = cache
        self.settings = settings
        self.costs = costs
        self.log = log
        self.shared = shared
        self.count_failure = count_failure
        """Called when a compile in place has failed."""
        self._jobs: dict[tuple[str, bytes], CompileJob] = {}
        self._calls = 0
        nbytes = self.settings.cache_bytes
        self._too_large: Lru[tuple[str, str], TooLargeToKeep] = Lru(TOO_LARGE_REMEMBERED)
        self._bytes = Shares(min(nbytes // WAITING_SHARE, MAX_WAITING_BYTES))
        """Of lists that are read and not yet compiled."""
        work = partial(worker.serve, engine=self.engine, settings=self.settings)
        replaced = partial(self.log.warning, "state", detail="the worker ended and was replaced")
        process = WorkerProcess(self.settings, work)
        self._link = Link(process, self.settings, self.engine.compiler, replaced)
        self.open = self._link.open
        self.close = self._link.close
        self.check_health = self._link.check_health

    def serve(self, tenants: int) -> None:
        """Share the queue between this many tenants at most."""
        self._bytes.tenants = tenants

    def start(self, tenant: str, raw_hash: bytes, raw: bytes) -> CompileJob:
        """Return the job that compiles these bytes of `tools`; joins the one under way, if any.

        A list that is asked for again goes ahead of those that were asked for once.
        """
        key = (tenant, raw_hash)
        job = self._jobs.get(key)
        if job is None:
            job = self._jobs[key] = CompileJob(worker.SentList(tenant, raw_hash, raw))
            job.task = asyncio.create_task(self._compile(job))
            job.task.add_done_callback(lambda _: self._jobs.pop(key, None))
        elif job.listing.done() and not job.is_hurried:
            job.is_hurried = True
            self._link.tell("call", tenant_of(tenant), worker.Worker.prioritize, tenant, raw_hash)
        return job

    async def run(
        self,
        tenant: str,
        work: Callable[..., T],
        *args: Any,
        pool: str = "call",
        seconds: float = work_threads.DEADLINE_S,
    ) -> T:
        """Call a function in the worker; it is given the worker first.

        Args:
            tenant: whose turn it takes.
            work: the function.
            args: further arguments.
            pool: the threads that do it.
            seconds: how long it may take.

        Raises:
            TooMuchWork: too many calls wait, or it took longer than that.
            WorkerUnavailable: the worker does not answer.
        """
        if self._calls >= work_threads.MOST_WAITING:
            raise TooMuchWork("too much work waits for a thread; try again shortly")
        self._calls += 1
        try:
            asked = self._link.ask(pool, tenant, work, *args)
            return cast(T, await self._wait_in_time(asked, seconds, work_threads.TOO_LATE))
        finally:
            self._calls -= 1

    async def wait_for_stage(
        self, stage: "asyncio.Future[T]", seconds: float = work_threads.DEADLINE_S
    ) -> T:
        """Wait for a stage of a compile, without cancelling it.

        Raises:
            TooMuchWork: the worker is overloaded.
            WorkerUnavailable: the worker is away.
        """
        late = "reading the tools took too long; try again"
        return await self._wait_in_time(asyncio.shield(stage), seconds, late)

    async def _wait_in_time(self, work: Awaitable[T], seconds: float, late: str) -> T:
        try:
            return await work_threads.wait_in_time(work, seconds, late)
        except TooMuchWork:
            if self._link.is_answering:
                raise
            raise WorkerUnavailable("the worker does not answer and is being replaced") from None

    def __len__(self) -> int:
        return len(self._jobs)

    def sum_ahead(self, tenant: str) -> int:
        """Count the compiles until the last one of a tenant is done, as the tenants take turns."""
        return int(sum_ahead(Counter(tenant_of(space) for space, _ in self._jobs), tenant))

    async def _compile(self, job: CompileJob) -> None:
        """Read a list, and compile it if it is new and there is room."""
        sent = job.sent
        read = partial(self._link.ask, "read", tenant_of(sent.space), worker.read_list, sent)
        try:
            listing, catalog = await self._compile_changed(sent) or (await read(), None)
            self.cache.add_alias(sent.space, sent.raw_hash, listing)
            job.listing.set_result(listing)
            catalog = catalog or self.cache.find_by_digest(sent.space, listing.digest)
            if catalog is None:
                catalog = await self._compile_new(job, listing.digest)
            else:
                job.lexical.set_result(catalog)
            job.complete.set_result(catalog)
        except Exception as error:
            job.fail(error)

    async def _compile_changed(
        self, sent: worker.SentList
    ) -> tuple[worker.CompiledList, Catalog] | None:
        """Return a list compiled here, if it differs from a known one in a few tools."""
        # Which tools a key with filters sees, the worker finds out.
        if sent.space not in self.cache.latest or filters_of(sent.space) is not None:
            return None
        try:
            changed = await work_threads.run_in_thread(self._make_changed, sent)
        except (ToolscoutError, msgspec.ValidationError, *NOT_JSON):
            return None  # the worker reads the whole list, and says what is wrong with it
        except Exception:
            self.log.exception("compile_failed", detail="a changed list is compiled anew")
            self.count_failure()
            return None
        if changed is not None:
            self._keep(sent, changed[1])
        return changed

    def _make_changed(self, sent: worker.SentList) -> tuple[worker.CompiledList, Catalog] | None:
        by_digest = partial(self.cache.find_by_digest, sent.space)
        change = self.cache.latest.compare(sent.space, sent.raw, by_digest, self.settings.max_tools)
        if change is None:
            return None
        catalog = by_digest(change.digest) or make_catalog(change, self.engine.compiler)
        if catalog is None or catalog.nbytes > self.cache.catalog_limit:
            return None
        return worker.CompiledList(
            change.digest, change.offered, NONE_SKIPPED, change.offered
        ), catalog

    def _keep(self, sent: worker.SentList, catalog: Catalog) -> None:
        if self.shared is not None:
            tools = b"[" + b",".join(catalog.wires) + b"]"
            self.shared.keep(tenant_of(sent.space), catalog.digest, tools)
        self.cache.add(sent.space, catalog)

    async def _compile_new(self, job: CompileJob, digest: str) -> Catalog:
        """Compile a list in the worker, if there is room for it.

        Raises:
            TooLargeToKeep: its catalog cannot be kept.
            Overloaded: too many lists wait.
        """
        sent = job.sent
        tenant = tenant_of(job.sent.space)

        def on_words(words: Catalog) -> None:
            if not job.lexical.done():  # a worker that was replaced may have sent them
                job.lexical.set_result(words)

        too_large = self._too_large.get((sent.space, digest))
        if too_large is not None:
            raise TooLargeToKeep(too_large.detail, too_large.errors)
        if not self._bytes.take(tenant, len(sent.raw)):
            raise Overloaded("too many unknown tools wait; try again shortly")
        try:
            vectors, spent, entries = await self._link.ask(
                "compile", tenant, worker.compile_list, sent, on_words=on_words
            )
        except TooLargeToKeep as error:
            self._too_large.put((sent.space, digest), error)
            self.log.warning("catalog_too_large", detail=error.detail)
            raise
        finally:
            self._bytes.give(tenant, len(sent.raw))
        catalog = job.lexical.result()
        if vectors is not None:
            catalog = catalog.with_vectors(vectors)
        if entries is not None:
            self.cache.latest.keep(sent.space, catalog, entries)
        self._keep(sent, catalog)
        self.costs.learn("compile", spent)
        return catalog
