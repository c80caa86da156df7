"""Catalogues that a request names: by digest or by registered name, here or in the state store."""

import asyncio
import re
from hashlib import sha256

import msgspec

from toolscout.catalog.catalogue import Catalogue
from toolscout.contract import is_absent
from toolscout.errors import CatalogUnknown
from toolscout.server.answer import Trace
from toolscout.server.envelope import R, Read
from toolscout.server.service import Service
from toolscout.state.catalogues import READ_S
from toolscout.state.store import StoreUnavailable

_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_digest(name: str) -> bool:
    """Whether a catalogue is named by its content."""
    return _DIGEST.fullmatch(name) is not None


async def with_shared(service: Service, tenant: str, read: Read[R]) -> Read[R]:
    """The request with what it names in place of the name: tools, or a digest known here.

    The store is waited for a few milliseconds. What nobody knows is left as it is.
    """
    named = read.request.catalog
    if named is None or read.known is not None or not is_absent(read.request.tools):
        return read
    if service.cache.by_digest(tenant, named) is not None:
        return read
    digest, raw = await _look_up(service, tenant, named, READ_S)
    if raw is not None:
        request = msgspec.structs.replace(read.request, tools=msgspec.Raw(raw))
        return Read(request, None, sha256(raw).digest())
    if digest is not None:
        return Read(msgspec.structs.replace(read.request, catalog=digest), None, b"")
    return read


async def find(service: Service, trace: Trace, name: str) -> Catalogue:
    """The catalogue of a name or digest, compiled first where only the store has it.

    Raises:
        CatalogUnknown: there is none.
    """
    catalogue = service.cache.by_digest(trace.tenant, name)
    if catalogue is None:
        digest, raw = await _look_up(service, trace.tenant, name, None)
        catalogue = None if digest is None else service.cache.by_digest(trace.tenant, digest)
        if catalogue is None and raw is not None:
            catalogue = await compiled(service, trace, raw)
    if catalogue is None:
        raise CatalogUnknown("no catalogue of this name or digest is known here")
    trace.catalog, trace.unique = catalogue.digest, len(catalogue)
    return catalogue


async def compiled(service: Service, trace: Trace, raw: bytes) -> Catalogue:
    """The catalogue of a JSON array of tools, compiled as far as its words go.

    Raises:
        InvalidRequest: the tools are at fault.
    """
    assert service.compiles is not None
    job = service.compiles.start(trace.tenant, sha256(raw).digest(), raw)
    with service.patient():
        trace.offered = (await asyncio.shield(job.tools)).offered
        catalogue = await asyncio.shield(job.lexical)
    trace.catalog, trace.unique = catalogue.digest, len(catalogue)
    return catalogue


async def _look_up(
    service: Service, tenant: str, name: str, limit_s: float | None
) -> tuple[str | None, bytes | None]:
    """The digest behind a name, and its tools unless they are compiled here already."""
    if is_digest(name):
        shared = service.shared
        return name, None if shared is None else await shared.find(tenant, name)
    limits = {} if limit_s is None else {"limit_s": limit_s}
    try:
        record = await service.registry.record(tenant, name, **limits)
        if record is None:
            return None, None
        if service.cache.by_digest(tenant, record.digest) is not None:
            return record.digest, None
        return record.digest, await service.registry.tools(tenant, name, record.digest, **limits)
    except StoreUnavailable:
        return None, None
