"""A digest that this process does not know may be one that another process keeps."""

from hashlib import sha256

import msgspec

from toolscout.contract import is_absent
from toolscout.server.envelope import R, Read
from toolscout.server.service import Service


async def with_shared(service: Service, tenant: str, read: Read[R]) -> Read[R]:
    """The request as if it carried the tools whose digest it names, where only the store has them.

    Known digests, and those that nobody knows, are left as they are.
    """
    shared, digest = service.shared, read.request.catalog
    if shared is None or digest is None or not is_absent(read.request.tools):
        return read
    if service.cache.by_digest(tenant, digest) is not None:
        return read
    raw = await shared.find(tenant, digest)
    if raw is None:
        return read
    request = msgspec.structs.replace(read.request, tools=msgspec.Raw(raw))
    return Read(request, None, sha256(raw).digest())
