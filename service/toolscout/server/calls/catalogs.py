"""Registered catalogs over HTTP: put, change, describe, delete.

The entity tag of a catalog is the digest of its content. `If-Match` makes a change conditional on
the version that the caller has seen; without it, a change applies to the current version.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from secrets import randbelow
from time import time
from typing import TypeVar

from litestar import Response, delete, get, patch, put
from litestar.openapi import ResponseSpec
from litestar.params import JSONBody

from toolscout.contract.bounds import MAX_CATALOGS
from toolscout.contract.catalogs import CatalogInfo, CatalogPatch, CatalogPut
from toolscout.errors import CatalogUnknown
from toolscout.index.catalog import Catalog
from toolscout.server.calls import lookup
from toolscout.server.calls.typed import (
    CatalogId,
    IfMatch,
    IfNoneMatch,
    TypedRequest,
    answer_not_modified,
    tag_content,
)
from toolscout.server.compiling.patching import patch_list
from toolscout.server.http.answer import has_tag
from toolscout.server.http.problems import Refused, refuse_field
from toolscout.server.service import Named, Service
from toolscout.state.registry import CatalogRecord, Place
from toolscout.state.store import Changed
from toolscout.tools.conversion import check_whole

T = TypeVar("T")

MAX_SHARE = 0.5
"""Share of a store's limit that one of several tenants may use for registered catalogs."""

TRIES = 30
WAIT_MS = 20
"""Maximum number of tries of an unconditional change while others change the same catalog, and the
longest wait between them.
"""

_NO_TTL = "a catalog that PostgreSQL keeps stays until it is deleted"


@put(call="catalog", scope="write", responses={201: ResponseSpec(CatalogInfo)})
async def put_catalog(
    request: TypedRequest,
    id: CatalogId,
    data: JSONBody[CatalogPut],
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response[CatalogInfo]:
    """Register a tool list.

    It is kept under this name, for `ttl_s` seconds. `If-Match` and `If-None-Match` are honoured
    (412).
    """
    service = request.service
    trace = request.trace
    if lookup.is_digest(id):
        raise refuse_field("id", "a digest names content already; choose another name")
    is_external = data.keep == "postgres"
    if is_external and data.ttl_s is not None:
        raise refuse_field("ttl_s", _NO_TTL)
    place = Place(trace.tenant, id)
    catalog = None if is_external else await lookup.get_completed(service, trace, bytes(data.tools))
    check_whole(catalog.names if catalog is not None else (), trace.skipped)

    async def change() -> tuple[int, CatalogRecord]:
        current = await service.registry.record(place)
        _check_conditions(current, if_match, if_none_match)
        if current is None and len(await service.registry.names(trace.tenant)) >= MAX_CATALOGS:
            # Simultaneous requests may exceed it by a few.
            message = f"at most {MAX_CATALOGS} catalogs may be registered; delete one first"
            raise refuse_field("id", message)
        if catalog is None:
            tools = CatalogPatch(upsert=data.tools)
            record = await service.external.change(place, current, tools, anew=True)
        else:
            expires = None if data.ttl_s is None else time() + data.ttl_s
            record = await _write(service, place, current, catalog, expires)
        return 201 if current is None else 200, record

    status, record = await _try_alone(change)
    return tag_content(_describe(id, record), record.digest, status)


@patch(call="catalog", scope="write")
async def patch_catalog(
    request: TypedRequest,
    id: CatalogId,
    data: JSONBody[CatalogPatch],
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response[CatalogInfo]:
    """Change a registered catalog.

    Adds, replaces and removes tools, sets their status and the lifetime: all or nothing. `If-Match`
    is honoured (412).
    """
    service = request.service
    trace = request.trace
    place = Place(trace.tenant, id)

    async def change() -> CatalogRecord:
        current = await _find_registered(service, place, if_match, if_none_match)
        if current.external:
            if data.ttl_s is not None:
                raise refuse_field("ttl_s", _NO_TTL)
            return await service.external.change(place, current, data)
        catalog = await service.compiles.compile_patched(
            trace.tenant, current.digest, data, lookup.COMPILED_WITHIN_S
        )
        if catalog is None:  # not held here, or much of it is changed
            raw = await service.registry.tools(place, current)
            if raw is None:
                raise Changed  # deleted or replaced since its record was read
            listed = await service.compiles.run(
                trace.tenant, patch_list, raw, data, service.settings.max_tools
            )
            catalog = await lookup.get_completed(service, trace, listed)
        trace.catalog = catalog.digest
        trace.unique = len(catalog)
        expires = current.expires if data.ttl_s is None else time() + data.ttl_s
        return await _write(service, place, current, catalog, expires)

    record = await _try_alone(change)
    return tag_content(_describe(id, record), record.digest)


@get(call="catalog")
async def get_catalog(
    request: TypedRequest, id: CatalogId, if_none_match: IfNoneMatch = None
) -> Response[CatalogInfo]:
    """Describe a catalog.

    A registered one with its version and expiry, a digest with its size.
    """
    service = request.service
    trace = request.trace
    record = None
    if trace.space == trace.tenant and not lookup.is_digest(id):
        record = await service.registry.record(Place(trace.tenant, id))
    if record is None:
        catalog = await lookup.find(service, trace, id)
        info = CatalogInfo(id, catalog.digest, len(catalog))
    else:
        info = _describe(id, record)
    return answer_not_modified(if_none_match, info.digest) or tag_content(info, info.digest)


@delete(call="catalog", scope="write")
async def delete_catalog(
    request: TypedRequest,
    id: CatalogId,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> None:
    """Delete a registered catalog.

    Its name is free at once. `If-Match` is honoured (412).
    """
    service = request.service
    place = Place(request.trace.tenant, id)

    async def change() -> None:
        current = await _find_registered(service, place, if_match, if_none_match)
        await service.registry.delete(place, current)
        service.named.put(place, lookup.NOWHERE, 1)

    await _try_alone(change)


async def _try_alone(change: Callable[[], Awaitable[T]]) -> T:
    """Return the result of a change, repeated while others change the same catalog."""
    for _ in range(TRIES):
        try:
            return await change()
        except Changed:
            await asyncio.sleep(randbelow(WAIT_MS) / 1_000)
    raise Refused("overloaded", "others kept changing the catalog")


async def _find_registered(
    service: Service, place: Place, if_match: str | None, if_none_match: str | None
) -> CatalogRecord:
    """Return the record to change, if it is the version that the caller means."""
    current = await service.registry.record(place)
    if current is None:
        raise CatalogUnknown("no catalog is registered under this name")
    _check_conditions(current, if_match, if_none_match)
    return current


async def _write(
    service: Service,
    place: Place,
    current: CatalogRecord | None,
    catalog: Catalog,
    expires: float | None,
) -> CatalogRecord:
    if service.keyring.is_shared and await service.registry.share(place.tenant) >= MAX_SHARE:
        # Simultaneous requests may exceed it.
        raise refuse_field(
            "id", f"these catalogs take {MAX_SHARE:.0%} of the store; delete one first"
        )
    digest = catalog.digest
    record = await service.registry.put(place, current, digest, catalog.wires, expires)
    # A search of this name does without the store, should that be slow.
    service.named.put(place, Named(digest, digest, record.created), 1)
    return record


def _check_conditions(
    current: CatalogRecord | None, if_match: str | None, if_none_match: str | None
) -> None:
    digest = None if current is None else current.digest
    if if_match and (digest is None or not has_tag(if_match, digest, is_change=True)):
        raise Refused("precondition_failed", "If-Match names another content than there is")
    if if_none_match and digest is not None and has_tag(if_none_match, digest, is_change=True):
        raise Refused("precondition_failed", "If-None-Match names the content that is there")


def _describe(name: str, record: CatalogRecord) -> CatalogInfo:
    expires = record.expires
    return CatalogInfo(
        id=name,
        digest=record.digest,
        tools=record.tools,
        version=record.version,
        created_at=datetime.fromtimestamp(record.created, UTC),
        updated_at=datetime.fromtimestamp(record.updated, UTC),
        expires_at=None if expires is None else datetime.fromtimestamp(expires, UTC),
        keep="postgres" if record.external else None,
    )


HANDLERS = (get_catalog, put_catalog, patch_catalog, delete_catalog)
