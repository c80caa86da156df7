"""Compiling beside the event loop, in another process: one flight per tool list.

The tenants take turns there, and share the bytes of the lists that wait.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar, cast

import msgspec

from toolscout.common.fairness import Shares, sum_ahead
from toolscout.common.lru import Lru
from toolscout.common.threads import FairPool, trim_heap
from toolscout.contract.catalogs import CatalogPatch
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
from toolscout.index.increment import Change, make_catalog
from toolscout.index.vector_index import QUANTISED_ABOVE
from toolscout.ranking.ladder import Costs
from toolscout.server.compiling import work_threads, worker
from toolscout.server.compiling.jobs import CompileJob
from toolscout.server.compiling.link import Link, WorkerProcess
from toolscout.server.compiling.patching import find_change
from toolscout.serving.connections import Events
from toolscout.settings import Settings
from toolscout.state.registry import SharedCatalogs, join_tools
from toolscout.tools.conversion import NONE_SKIPPED
from toolscout.tools.filters import filters_of, tenant_of
from toolscout.tools.overlay import Overlay

T = TypeVar("T")

WAITING_SHARE = 8
MAX_WAITING_BYTES = 64 * 1024 * 1024
"""What part of the memory for compiled catalogs, on top of it, lists may take that wait for their
compile, and at most how much: some ten seconds of compiling. Lists beyond it are compiled when they
are sent again."""


PATCHES = FairPool(1, "patch", most_waiting=work_threads.MOST_WAITING)
"""Changes of registered catalogs, one at a time: they share an interpreter lock, and one of a large
catalog takes as much memory as it has postings several times."""

TRIMMED_AFTER_S = 1.0
"""Seconds after which the system gets back what is free when a large catalog was compiled."""

TOO_LARGE_REMEMBERED = 1_024
"""Lists that are not compiled again because their catalog cannot be kept."""


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
        self.on_kept: Callable[[str, Catalog], object] = lambda *_: None
        """Called with the space of each catalog that is kept, and the catalog."""
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

    def use_overlay(self, text: str, overlay: Overlay) -> None:
        """Compile with these rows from now on; catalogs are recompiled by `OverlayFile`."""
        self.engine.compiler.overlay = overlay
        self._link.use_overlay(text)

    def is_outdated(self, space: str, catalog: Catalog) -> bool:
        """Whether a catalog was compiled with other rows of the overlay than are in use."""
        overlay = self.engine.compiler.overlay.of(tenant_of(space))
        return catalog.adjusted.overlay != overlay.digest

    async def recompile(self, space: str, catalog: Catalog) -> Catalog:
        """Compile the tools of a catalog anew, which answers until then, and keep what comes of it.

        Raises:
            ToolscoutError: the worker cannot do it.
        """
        raw = join_tools(catalog.wires)
        sent = worker.SentList(space, sha256(raw).digest(), raw)
        made: list[Catalog] = []
        vectors, *_ = await self._link.ask(
            "compile", tenant_of(space), worker.compile_list, sent, on_words=made.append
        )
        words = made[-1]  # a worker that was replaced may have sent some
        whole = words if vectors is None else words.with_vectors(vectors)
        self._keep(space, whole)
        return whole

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
            job = self._jobs[key] = CompileJob(
                worker.SentList(tenant, raw_hash, raw), self._link.lost
            )
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

    def has_lost_worker(self, job: CompileJob) -> bool:
        """Whether a worker has ended since a job was started, maybe over its list."""
        return self._link.lost > job.workers_lost

    async def wait_for_stage(
        self, stage: "asyncio.Future[T]", seconds: float = work_threads.DEADLINE_S
    ) -> T:
        """Wait for a stage of a compile, without cancelling it.

        Raises:
            TooMuchWork: the worker is overloaded.
            WorkerUnavailable: the worker is away.
        """
        late = "the tools were not read in time, this process is busy; try again shortly"
        return await self._wait_in_time(asyncio.shield(stage), seconds, late)

    async def _wait_in_time(self, work: Awaitable[T], seconds: float, late: str) -> T:
        try:
            return await work_threads.wait_in_time(work, seconds, late)
        except TooMuchWork:
            if self._link.is_answering:
                raise
            raise WorkerUnavailable("the worker does not answer and is being replaced") from None

    async def compile_patched(
        self, tenant: str, digest: str, patch: CatalogPatch, seconds: float
    ) -> Catalog | None:
        """Compile the tools of a catalog that a patch changes, here.

        Return None if it is not held, or has to be compiled as a whole.

        Raises:
            ToolscoutError: the patch is at fault, or it took longer than that.
        """
        base = self.cache.find_by_digest(tenant, digest)
        if base is None:
            return None
        made: list[Catalog | None] = []

        def make() -> None:
            change = find_change(base, patch, self.settings.max_tools)
            made.append(self._make_catalog(tenant, change))

        late = "the change took too long; try again"
        try:
            call = PATCHES.submit(tenant, make)
            await work_threads.wait_in_time(asyncio.wrap_future(call), seconds, late)
        except ToolscoutError:
            raise
        except Exception:
            self._note_failure()
            return None
        catalog = made.pop()  # else it would live as long as the future, until that is collected
        if catalog is not None:
            self._keep(tenant, catalog)
        return catalog

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
            self._note_failure()
            return None
        if changed is not None:
            self._keep(sent.space, changed[1])
        return changed

    def _make_changed(self, sent: worker.SentList) -> tuple[worker.CompiledList, Catalog] | None:
        held = partial(self.cache.find_by_digest, sent.space)
        change = self.cache.latest.compare(sent.space, sent.raw, held, self.settings.max_tools)
        catalog = self._make_catalog(sent.space, change)
        if change is None or catalog is None:
            return None
        offered = len(catalog)
        return worker.CompiledList(catalog.digest, offered, NONE_SKIPPED, offered), catalog

    def _make_catalog(self, space: str, change: Change | None) -> Catalog | None:
        """Return what a change makes of a catalog; None if it cannot be made here, or kept."""
        if change is None:
            return None
        catalog = self.cache.find_by_digest(space, change.digest)
        catalog = catalog or make_catalog(change, self.engine.compiler, tenant_of(space))
        if catalog is None or catalog.nbytes > self.cache.catalog_limit:
            return None
        return catalog

    def _note_failure(self) -> None:
        self.log.exception("compile_failed", detail="a changed list is compiled anew")
        self.count_failure()

    def _keep(self, space: str, catalog: Catalog) -> None:
        if self.shared is not None:
            self.shared.keep(tenant_of(space), catalog.digest, join_tools(catalog.wires))
        self.cache.add(space, catalog)
        self.on_kept(space, catalog)
        if len(catalog) > QUANTISED_ABOVE:
            # Making it took as much again, and the one that it replaces is in use until then.
            asyncio.get_running_loop().call_later(TRIMMED_AFTER_S, trim_heap)

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
        self._keep(sent.space, catalog)
        self.costs.learn("compile", spent)
        return catalog
