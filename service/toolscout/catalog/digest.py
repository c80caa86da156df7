"""Names for content: a tool by its hash, a tool list by the hashes of its tools."""

from collections.abc import Iterable
from hashlib import sha256

import msgspec

from toolscout.contract import ABSENT, RAW_FIELDS, Tool, is_absent

_encode = msgspec.json.Encoder().encode


def tool_digest(tool: Tool) -> bytes:
    """SHA-256 over every field of a tool, raw JSON as it was sent; null counts as absent."""
    nulls = {
        field: ABSENT
        for field in RAW_FIELDS
        if (raw := getattr(tool, field)) is not ABSENT and is_absent(raw)
    }
    if nulls:
        tool = msgspec.structs.replace(tool, **nulls)
    return sha256(_encode(tool)).digest()


def catalogue_digest(tools: Iterable[bytes]) -> str:
    """SHA-256 over the sorted, distinct tool digests: the order of a list does not matter."""
    joined = sha256()
    for digest in sorted(set(tools)):
        joined.update(digest)
    return joined.hexdigest()
