"""Registered catalogues over HTTP: put, change, describe, delete.

The entity tag of a catalogue is the digest of its content. `If-Match` makes a change conditional on
what the caller has seen; without it, a change is made on top of whatever is there.
"""

import asyncio
from datetime import UTC, datetime
from secrets import randbelow
from time import time

import msgspec

from toolscout.catalog.catalogue import Catalogue
from toolscout.catalog.toollist import ToolList
from toolscout.contract import CatalogInfo, CatalogPatch, CatalogPut, is_absent
from toolscout.errors import CatalogUnknown, FieldError, InvalidRequest
from toolscout.server import sharing
from toolscout.server.answer import Trace
from toolscout.server.envelope import decode
from toolscout.server.exchange import Exchange, Refused
from toolscout.server.service import Service
from toolscout.state.registry import Changed, Record
from toolscout.state.store import StoreUnavailable

TRIES = 30
WAIT_MS = 20
"""How often an unconditional change is tried while others change the same catalogue, and how long
it waits in between at most."""

_encode = msgspec.json.Encoder().encode
_put = msgspec.json.Decoder(CatalogPut).decode
_patch = msgspec.json.Decoder(CatalogPatch).decode


async def put_catalog(service: Service, exchange: Exchange, trace: Trace) -> None:
    """Register a tool list under a name, in place of what is there.

    Raises:
        Refused, InvalidRequest: the request is at fault, or a condition does not hold.
    """
    name = _new_name(exchange)
    request = decode(await _body(service, exchange), _put)
    catalogue = await sharing.compiled(service, trace, bytes(request.tools))
    for _ in range(TRIES):
        known = await _record(service, trace, name)
        _check_conditions(exchange, known)
        try:
            record = await _write(service, trace, name, known, catalogue, request.ttl_s)
        except Changed:
            await asyncio.sleep(randbelow(WAIT_MS) / 1_000)
            continue
        status = 201 if known is None else 200
        await exchange.answer(status, _encode(_info(name, record)), _tag(record.digest))
        return
    raise Refused("overloaded", "others kept changing the catalogue")


async def patch_catalog(service: Service, exchange: Exchange, trace: Trace) -> None:
    """Add, replace and remove tools of a registered catalogue, or change their status.

    Raises:
        Refused, InvalidRequest, CatalogUnknown: the request is at fault.
    """
    name = exchange.parameters["id"]
    request = decode(await _body(service, exchange), _patch)
    for _ in range(TRIES):
        known = await _record(service, trace, name)
        if known is None:
            raise CatalogUnknown("no catalogue is registered under this name")
        _check_conditions(exchange, known)
        raw = await _tools(service, trace, name, known)
        if raw is None:
            continue  # deleted or replaced since its record was read
        listed = await asyncio.to_thread(_patched, raw, request, service.settings.max_tools)
        catalogue = await sharing.compiled(service, trace, listed)
        lasts = request.ttl_s
        if lasts is None and known.expires is not None:
            lasts = max(0.001, known.expires - time())
        try:
            record = await _write(service, trace, name, known, catalogue, lasts)
        except Changed:
            await asyncio.sleep(randbelow(WAIT_MS) / 1_000)
            continue
        await exchange.answer(200, _encode(_info(name, record)), _tag(record.digest))
        return
    raise Refused("overloaded", "others kept changing the catalogue")


async def get_catalog(service: Service, exchange: Exchange, trace: Trace) -> None:
    """Describe a catalogue by its name or digest.

    Raises:
        CatalogUnknown: there is none.
    """
    name = exchange.parameters["id"]
    record = None if sharing.is_digest(name) else await _record(service, trace, name)
    if record is None:
        catalogue = await sharing.find(service, trace, name)
        info = CatalogInfo(name, catalogue.digest, len(catalogue))
    else:
        info = _info(name, record)
    tag = _tag(info.digest)
    if _matches(exchange.header(b"if-none-match"), info.digest):
        await exchange.answer(304, b"", tag)
    else:
        await exchange.answer(200, _encode(info), tag)


async def delete_catalog(service: Service, exchange: Exchange, trace: Trace) -> None:
    """Delete a registered catalogue.

    Raises:
        Refused, CatalogUnknown: there is none, or a condition does not hold.
    """
    name = exchange.parameters["id"]
    for _ in range(TRIES):
        known = await _record(service, trace, name)
        if known is None:
            raise CatalogUnknown("no catalogue is registered under this name")
        _check_conditions(exchange, known)
        try:
            await service.registry.delete(trace.tenant, name, known)
        except Changed:
            await asyncio.sleep(randbelow(WAIT_MS) / 1_000)
            continue
        except StoreUnavailable:
            raise _unavailable() from None
        await exchange.answer(204, b"")
        return
    raise Refused("overloaded", "others kept changing the catalogue")


async def _record(service: Service, trace: Trace, name: str) -> Record | None:
    try:
        return await service.registry.record(trace.tenant, name)
    except StoreUnavailable:
        raise _unavailable() from None


async def _tools(service: Service, trace: Trace, name: str, known: Record) -> bytes | None:
    try:
        return await service.registry.tools(trace.tenant, name, known)
    except StoreUnavailable:
        raise _unavailable() from None


async def _write(
    service: Service,
    trace: Trace,
    name: str,
    known: Record | None,
    catalogue: Catalogue,
    ttl_s: float | None,
) -> Record:
    expires = None if ttl_s is None else time() + ttl_s
    tools = list(catalogue.wires)
    try:
        return await service.registry.put(
            trace.tenant, name, known, catalogue.digest, tools, expires
        )
    except StoreUnavailable:
        raise _unavailable() from None


def _patched(raw: bytes, request: CatalogPatch, most: int) -> bytes:
    """The JSON array of the tools after a change, each name once."""
    by_name = {tool.name: tool for tool in ToolList.decode(raw, most).tools}
    if not is_absent(request.upsert):
        changed = ToolList.decode(request.upsert, path="upsert").tools
        by_name.update({tool.name: tool for tool in changed})
    for name in request.remove or ():
        by_name.pop(name, None)
    for name, status in (request.status or {}).items():
        if name not in by_name:
            what = FieldError(f"status.{name}", "the catalogue has no tool of that name")
            raise Refused("not_found", "status: the catalogue has no tool of that name", (what,))
        kept = None if status == "available" else status
        by_name[name] = msgspec.structs.replace(by_name[name], status=kept)
    return b"[" + b",".join(map(_encode, by_name.values())) + b"]"


def _new_name(exchange: Exchange) -> str:
    name = exchange.parameters["id"]
    if sharing.is_digest(name):
        message = "a digest names content already; choose another name"
        raise InvalidRequest(f"id: {message}", (FieldError("id", message),))
    return name


def _check_conditions(exchange: Exchange, known: Record | None) -> None:
    digest = None if known is None else known.digest
    wanted, unwanted = exchange.header(b"if-match"), exchange.header(b"if-none-match")
    if wanted and (digest is None or not _matches(wanted, digest)):
        raise Refused("precondition_failed", "If-Match names another content than there is")
    if unwanted and digest is not None and _matches(unwanted, digest):
        raise Refused("precondition_failed", "If-None-Match names the content that is there")


def _matches(header: bytes, digest: str) -> bool:
    tags = [tag.strip().removeprefix(b"W/").strip(b'"') for tag in header.split(b",")]
    return b"*" in tags or digest.encode() in tags


def _tag(digest: str) -> list[tuple[bytes, bytes]]:
    return [(b"etag", f'"{digest}"'.encode()), (b"x-catalog-digest", digest.encode())]


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
    )


def _unavailable() -> Refused:
    return Refused("overloaded", "the state store could not be reached")


async def _body(service: Service, exchange: Exchange) -> bytes:
    exchange.check_json()
    settings = service.settings
    return await exchange.body(settings.max_body_bytes, settings.body_timeout_s)
