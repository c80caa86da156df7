"""Catalogs that a request names: by digest or by registered name, here or in the state store."""

import asyncio
import re
from collections.abc import Sequence
from hashlib import sha256
from time import perf_counter

import msgspec

from toolscout.contract.bounds import CATALOG_NAME
from toolscout.contract.fields import is_absent
from toolscout.errors import CatalogUnknown, Overloaded
from toolscout.external.catalogs import ExternalCatalog, NeedsAllTools
from toolscout.index.catalog import Catalog
from toolscout.ranking.ask import Ask
from toolscout.server.calls.envelope import R, Read
from toolscout.server.compiling.jobs import CompileJob, find_stage, wait_for_best
from toolscout.server.compiling.link import HUNG_S, TRIES
from toolscout.server.http.problems import Refused, refuse_field
from toolscout.server.observe.record import Trace
from toolscout.server.service import Named, Service
from toolscout.state.registry import Place
from toolscout.state.store import StoreUnavailable
from toolscout.tools.filters import tenant_of

WAIT_S = 0.005
"""How long a search waits for the store where it knows a name's digest."""

COMPILED_WITHIN_S = TRIES * HUNG_S
"""How long a caller who needs a compiled catalog waits for it: no longer than two workers hang."""

CHANGED_SHARE = 0.5
"""Share of its budget for which a search that first meets changed tools waits for them."""

NOWHERE = Named("", "", 0.0)
"""The entry of a name that nothing is registered under."""

_DIGEST = re.compile(r"[0-9a-f]{64}")

EXTERNAL = "external"
"""What traces tell in place of a hit or a miss where PostgreSQL keeps the tools one by one."""


def is_digest(name: str) -> bool:
    """Whether a catalog is named by its content."""
    return _DIGEST.fullmatch(name) is not None


def check_name(name: str) -> None:
    """Check that a catalog can be called so.

    Raises:
        InvalidRequest: it cannot.
    """
    if not CATALOG_NAME.fullmatch(name):
        raise refuse_field(
            "id", "expected 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit"
        )


async def load_candidates(
    service: Service,
    trace: Trace,
    external: ExternalCatalog,
    asks: Sequence[Ask] = (),
    names: Sequence[str] = (),
    within_s: float | None = None,
) -> Catalog:
    """Return the candidates of an external catalog, by default within the latency budget.

    Raises:
        DatabaseUnavailable: there is no answer in time.
    """
    if within_s is None:
        within_s = service.settings.latency_budget_ms / 1_000
    catalog, trace.unique = await service.external.load_candidates(
        external, asks, names, max(0.0, within_s)
    )
    trace.cache = EXTERNAL
    trace.catalog = catalog.digest
    trace.offered = trace.unique
    return catalog


async def take_known(
    service: Service,
    read: Read[R],
    trace: Trace,
    asks: Sequence[Ask] = (),
    names: Sequence[str] = (),
    within_s: float | None = None,
) -> Catalog | None:
    """Return the catalog of a request; None if its tools have to be compiled first.

    Of one that is not held here only the tools for the questions, and those of the names.

    Raises:
        CatalogUnknown: nobody who sees these tools has sent them to this process, or they were
            evicted.
        DatabaseUnavailable: there is no answer within `within_s` seconds.
    """
    if read.external is not None:
        return await load_candidates(service, trace, read.external, asks, names, within_s)
    if read.is_cold:
        return None
    trace.cache = "hit"
    named = read.request.catalog or ""
    if read.known is not None:
        catalog, trace.offered, trace.skipped = read.known
    elif (held := service.cache.find_by_digest(trace.space, named)) is not None:
        catalog = held
        trace.offered = len(held)
    else:
        raise CatalogUnknown(
            "send the tools once more; the answer names their digest"
            if is_digest(named)
            else "nothing is registered under this name; a list without one is named by its digest"
        )
    trace.catalog = catalog.digest
    trace.unique = len(catalog)
    return catalog


async def resolve_shared(service: Service, space: str, read: Read[R]) -> Read[R]:
    """Return the request with what it names in place of the name: tools, or a digest known here.

    The store is waited for as long as the budget lasts, or a few milliseconds where the tools of a
    name are compiled here; while it is unavailable, such a name resolves to its last known digest.
    What nobody knows is left as it is.

    Raises:
        Refused: the store did not say in time what a name stands for.
    """
    named = read.request.catalog
    if named is None or not is_absent(read.request.tools):
        return read
    if service.cache.has_digest(space, named):
        return read
    loading = service.loads.get((space, named))
    if loading is None:
        loading = asyncio.create_task(_load(service, space, named))
        service.loads[space, named] = loading
        loading.add_done_callback(lambda task: task.cancelled() or task.exception())
    is_name = not is_digest(named)
    settings = service.settings
    budget_ms = getattr(read.request, "latency_budget_ms", None)
    usual_ms = settings.cold_budget_ms if is_name else settings.latency_budget_ms
    if _find_compiled_here(service, space, named) is not None:
        await asyncio.wait([loading], timeout=WAIT_S)
    if _find_compiled_here(service, space, named) is None:  # or no more: it was registered anew
        await asyncio.wait([loading], timeout=(budget_ms or usual_ms) / 1_000)
    if loading.done() and isinstance(external := loading.exception(), NeedsAllTools):
        return Read(read.request, None, b"", external=external.catalog)
    # What takes longer goes on; the next request may find what this one could not wait for.
    compiled_here = _find_compiled_here(service, space, named)
    must_know = is_name and compiled_here is None  # of a digest, callers send the tools instead
    if must_know and (not loading.done() or loading.exception() is not None):
        raise Refused("store_unavailable", "the state store did not say what this name stands for")
    digest, job = loading.result() if loading.done() else (compiled_here, None)
    # Tools that another process has changed answer as they were until the new ones are complete;
    # not those of a key with filters, which may be shown some of them no more.
    if job is not None and compiled_here is not None and space == tenant_of(space):
        within_s = CHANGED_SHARE * (budget_ms or settings.latency_budget_ms) / 1_000
        digest = await _wait_for_changed(job, within_s) or compiled_here
        job = None
    if job is not None:
        request = msgspec.structs.replace(read.request, tools=msgspec.Raw(job.sent.raw))
        raw_hash = job.sent.raw_hash
        return Read(request, service.cache.find_by_alias(space, raw_hash), raw_hash)
    if digest is not None:
        return Read(msgspec.structs.replace(read.request, catalog=digest), None, b"")
    return read


async def _wait_for_changed(job: CompileJob, within_s: float) -> str | None:
    """Return the digest of changed tools if they are compiled in time.

    Only the first search waits; until they are complete, later ones get the former tools at once.
    """
    if not job.was_awaited:
        job.was_awaited = True
        await asyncio.wait([job.complete], timeout=within_s)
    is_complete = job.complete.done() and job.complete.exception() is None
    return job.complete.result().digest if is_complete else None


async def find(
    service: Service,
    trace: Trace,
    name: str,
    complete_by: float | None = None,
    names: Sequence[str] | None = None,
) -> Catalog:
    """Return the catalog of a name or digest, compiled first where only the store has it.

    It is waited for as `compiled` does. Of an external one, only the tools of `names`.

    Raises:
        CatalogUnknown: there is none.
        StoreUnavailable: the store could not be read.
        NeedsAllTools: the catalog is external, and no names were given.
    """
    catalog = service.cache.find_by_digest(trace.space, name)
    if catalog is None:
        try:
            digest, raw = await _look_up(service, trace.space, name)
        except NeedsAllTools as external:
            if names is None:
                raise
            return await load_candidates(service, trace, external.catalog, names=names)
        if raw is not None:
            return await get_or_compile(service, trace, raw, complete_by=complete_by)
        catalog = service.cache.find_by_digest(trace.space, digest or "")
    if catalog is None:
        raise CatalogUnknown("no catalog of this name or digest is known here")
    trace.catalog = catalog.digest
    trace.unique = len(catalog)
    return catalog


async def get_or_compile(
    service: Service,
    trace: Trace,
    raw: bytes,
    raw_hash: bytes | None = None,
    complete_by: float | None = None,
) -> Catalog:
    """Return the catalog of a JSON array of tools, compiled at least as far as its words go.

    Until `complete_by`, a time of `perf_counter`, the vectors are waited for, too.

    Raises:
        InvalidRequest: the tools are at fault.
        TooMuchWork, WorkerUnavailable: they are not compiled within `COMPILED_WITHIN_S`.
    """
    raw_hash = raw_hash or sha256(raw).digest()
    held = service.cache.find_by_alias(trace.space, raw_hash)
    if held is not None:
        catalog, trace.offered, trace.skipped = held
    else:
        trace.cache = "miss"
        job = service.compiles.start(trace.space, raw_hash, raw)
        listing = await service.compiles.wait_for_stage(job.listing)
        trace.offered = listing.offered
        trace.skipped = listing.skipped
        catalog = await service.compiles.wait_for_stage(job.lexical, COMPILED_WITHIN_S)
        if complete_by is not None:
            stage = find_stage(job, service.settings.ranker)
            catalog = await wait_for_best(job, stage, complete_by) or catalog
    trace.catalog = catalog.digest
    trace.unique = len(catalog)
    return catalog


async def get_completed(service: Service, trace: Trace, raw: bytes) -> Catalog:
    """Return the same as `get_or_compile`, with its vectors unless both together take too long.

    So a list that was registered is searched by all it has, and the one before it until then.
    """
    return await get_or_compile(service, trace, raw, complete_by=perf_counter() + COMPILED_WITHIN_S)


async def _look_up(service: Service, space: str, name: str) -> tuple[str | None, bytes | None]:
    """Return the digest behind a name, and its tools unless they are compiled here already.

    Raises:
        StoreUnavailable: the store could not be read.
    """
    tenant = tenant_of(space)
    if is_digest(name):
        shared = service.shared
        return name, None if shared is None else await shared.find(tenant, name)
    if not CATALOG_NAME.fullmatch(name):
        return None, None
    place = Place(tenant, name)
    record = await service.registry.record(place)
    if record is None:
        service.named.put((space, name), NOWHERE, 1)
        return None, None
    if record.external:
        service.named.pop((space, name))
        raise NeedsAllTools("this", ExternalCatalog(space, name, record))
    if space == tenant and service.cache.find_by_digest(space, record.digest) is not None:
        service.named.put((space, name), Named(record.digest, record.digest, record.created), 1)
    last = _find_last_seen(service, space, name)
    if last.created != record.created:  # what was deleted meanwhile answers no more
        last = NOWHERE._replace(created=record.created)
        service.named.put((space, name), last, 1)
    if last.of_all == record.digest and service.cache.find_by_digest(space, last.seen) is not None:
        return last.seen, None
    stored = await service.registry.find(place, record)
    return (None, None) if stored is None else (stored[0].digest, stored[1])


def _remember(service: Service, space: str, name: str, of_all: str, job: CompileJob) -> None:
    """Remember the digest of what a key sees of a catalog, once that is complete.

    What was there before answers until then, and no longer if it can never be complete.
    """
    before = _find_last_seen(service, space, name)

    def ended(complete: "asyncio.Future[Catalog]") -> None:
        if _find_last_seen(service, space, name) != before:
            return  # it was changed here meanwhile
        if complete.cancelled() or isinstance(complete.exception(), Overloaded):
            return  # the next search starts it again
        if complete.exception() is None:
            seen = Named(of_all, job.listing.result().digest, before.created)
            service.named.put((space, name), seen, 1)
        else:
            service.named.pop((space, name))

    job.complete.add_done_callback(ended)


async def _load(service: Service, space: str, name: str) -> tuple[str | None, CompileJob | None]:
    """Look a name up, and have its tools compiled even if nobody waits any more.

    Return its digest, and the job that compiles its tools unless they are compiled here already.

    Raises:
        StoreUnavailable: the store could not be read, and no tools of the name are compiled here.
    """
    try:
        digest, raw = await _look_up(service, space, name)
    except StoreUnavailable:
        compiled_here = _find_compiled_here(service, space, name)
        if compiled_here is None and not is_digest(name):
            raise
        return compiled_here, None
    finally:
        del service.loads[space, name]
    if raw is None:
        return digest, None
    job = service.compiles.start(space, sha256(raw).digest(), raw)
    if digest is not None and not (space == tenant_of(space) and is_digest(name)):
        _remember(service, space, name, digest, job)
    return digest, job


def _find_compiled_here(service: Service, space: str, name: str) -> str | None:
    """Return the digest that a name stood for when it was last looked up, if it is compiled."""
    digest = _find_last_seen(service, space, name).seen
    return digest if service.cache.has_digest(space, digest) else None


def _find_last_seen(service: Service, space: str, name: str) -> Named:
    """Return what a name stood for when it was last looked up."""
    return service.named.get((space, name)) or NOWHERE
