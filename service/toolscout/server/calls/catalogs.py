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

import msgspec

from toolscout.contract.bounds import MAX_CATALOGS
from toolscout.contract.catalogs import CatalogInfo, CatalogPatch, CatalogPut
from toolscout.contract.fields import is_absent
from toolscout.errors import CatalogUnknown, FieldError, TooManyTools
from toolscout.index.catalog import Catalog
from toolscout.index.tool_list import RAISE, ToolList
from toolscout.server.calls import external, lookup
from toolscout.server.calls.envelope import Decoder, decode_checked
from toolscout.server.compiling.worker import Worker
from toolscout.server.http.answer import Answer, answer_json, names_tag, not_modified, tag_headers
from toolscout.server.http.problems import Refused, invalid
from toolscout.server.http.request import Request
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service
from toolscout.state.registry import Record
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

_encode = msgspec.json.Encoder().encode
_put = Decoder(CatalogPut)
_patch = Decoder(CatalogPatch)


async def put_catalog(service: Service, request: Request, trace: Trace) -> Answer:
    """Register a tool list under a name, replacing an earlier one.

    Raises:
        Refused, InvalidRequest: the request is at fault, or a condition does not hold.
        StoreUnavailable: the store failed; likewise in every change below.
    """
    name = _new_name(request)
    sent = decode_checked(await request.json_body(service.settings), _put)
    is_external = sent.keep == "postgres"
    if is_external and sent.ttl_s is not None:
        raise invalid("ttl_s", _NO_TTL)
    catalog = None if is_external else await lookup.compiled(service, trace, bytes(sent.tools))
    check_whole(catalog.names if catalog is not None else (), trace.skipped)

    async def change() -> tuple[int, Record]:
        known = await service.registry.record(trace.tenant, name)
        _check_conditions(request, known)
        if known is None and len(await service.registry.names(trace.tenant)) >= MAX_CATALOGS:
            # Simultaneous requests may exceed it by a few.
            message = f"at most {MAX_CATALOGS} catalogs may be registered; delete one first"
            raise invalid("id", message)
        if catalog is None:
            tools = CatalogPatch(upsert=sent.tools)
            record = await external.change(service, trace, name, known, tools, anew=True)
        else:
            record = await _write(service, trace, name, known, catalog, sent.ttl_s)
        return 201 if known is None else 200, record

    status, record = await _alone(change)
    return answer_json(_info(name, record), tag_headers(record.digest), status)


async def patch_catalog(service: Service, request: Request, trace: Trace) -> Answer:
    """Add, replace and remove tools of a registered catalog, or change their status.

    Raises:
        Refused, InvalidRequest, CatalogUnknown: the request is at fault.
    """
    name = request.parameters["id"]
    sent = decode_checked(await request.json_body(service.settings), _patch)

    async def change() -> Record:
        known = await _registered(service, request, trace)
        if known.external:
            if sent.ttl_s is not None:
                raise invalid("ttl_s", _NO_TTL)
            return await external.change(service, trace, name, known, sent)
        raw = await service.registry.tools(trace.tenant, name, known)
        if raw is None:
            raise Changed  # deleted or replaced since its record was read
        listed = await service.compiles.run(
            trace.tenant, _patched, raw, sent, service.settings.max_tools
        )
        catalog = await lookup.compiled(service, trace, listed)
        lasts = sent.ttl_s
        if lasts is None and known.expires is not None:
            lasts = max(0.001, known.expires - time())
        return await _write(service, trace, name, known, catalog, lasts)

    record = await _alone(change)
    return answer_json(_info(name, record), tag_headers(record.digest))


async def get_catalog(service: Service, request: Request, trace: Trace) -> Answer:
    """Describe a catalog by its name or digest.

    Raises:
        CatalogUnknown: there is none.
    """
    name = request.parameters["id"]
    digest = lookup.is_digest(name)
    record = None
    if trace.space == trace.tenant and not digest:
        record = await service.registry.record(trace.tenant, name)
    if record is None:
        catalog = await lookup.find(service, trace, name)
        info = CatalogInfo(name, catalog.digest, len(catalog))
    else:
        info = _info(name, record)
    same = not_modified(request, info.digest)
    return same or answer_json(info, tag_headers(info.digest))


async def delete_catalog(service: Service, request: Request, trace: Trace) -> Answer:
    """Delete a registered catalog.

    Raises:
        Refused, CatalogUnknown: there is none, or a condition does not hold.
    """

    async def change() -> None:
        known = await _registered(service, request, trace)
        await service.registry.delete(trace.tenant, request.parameters["id"], known)
        service.named.put((trace.tenant, request.parameters["id"]), lookup.NOWHERE, 1)

    await _alone(change)
    return Answer(status=204)


async def _alone(change: Callable[[], Awaitable[T]]) -> T:
    """Return the result of a change, repeated while others change the same catalog."""
    for _ in range(TRIES):
        try:
            return await change()
        except Changed:
            await asyncio.sleep(randbelow(WAIT_MS) / 1_000)
    raise Refused("overloaded", "others kept changing the catalog")


async def _registered(service: Service, request: Request, trace: Trace) -> Record:
    """Return the record to change, if the request's conditions hold for it."""
    known = await service.registry.record(trace.tenant, request.parameters["id"])
    if known is None:
        raise CatalogUnknown("no catalog is registered under this name")
    _check_conditions(request, known)
    return known


async def _write(
    service: Service,
    trace: Trace,
    name: str,
    known: Record | None,
    catalog: Catalog,
    ttl_s: float | None,
) -> Record:
    if service.keyring.is_shared and await service.registry.share(trace.tenant) >= MAX_SHARE:
        # Simultaneous requests may exceed it.
        raise invalid("id", f"these catalogs take {MAX_SHARE:.0%} of the store; delete one first")
    expires = None if ttl_s is None else time() + ttl_s
    tools = list(catalog.wires)
    record = await service.registry.put(trace.tenant, name, known, catalog.digest, tools, expires)
    # A search of this name does without the store, should that be slow.
    service.named.put((trace.tenant, name), (record.digest, record.digest), 1)
    return record


def _patched(_: Worker, raw: bytes, request: CatalogPatch, most: int) -> bytes:
    """Return the JSON array of the tools after a change, each name once."""
    present, changed = ToolList.decode(raw, most).tools, request.upsert
    sent = (
        ()
        if is_absent(changed)
        else ToolList.decode(changed, most, "upsert").checked("upsert").tools
    )
    by_name = external.patched((*present, *sent), request)
    if len(by_name) > most:
        message = f"makes it {len(by_name)} tools; the limit is {most}: {RAISE}"
        raise TooManyTools(f"upsert {message}", (FieldError("upsert", message),))
    return b"[" + b",".join(map(_encode, by_name.values())) + b"]"


def _new_name(request: Request) -> str:
    name = request.parameters["id"]
    if lookup.is_digest(name):
        raise invalid("id", "a digest names content already; choose another name")
    return name


def _check_conditions(request: Request, known: Record | None) -> None:
    digest = None if known is None else known.digest
    wanted, unwanted = request.header(b"if-match"), request.header(b"if-none-match")
    if wanted and (digest is None or not names_tag(wanted, digest)):
        raise Refused("precondition_failed", "If-Match names another content than there is")
    if unwanted and digest is not None and names_tag(unwanted, digest):
        raise Refused("precondition_failed", "If-None-Match names the content that is there")


def _info(name: str, record: Record) -> CatalogInfo:
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
