"""Content digests: of a tool, and of a tool list from the digests of its tools."""

from collections.abc import Iterable
from hashlib import sha256
from operator import attrgetter

import msgspec

from toolscout.contract.fields import ABSENT, is_absent
from toolscout.contract.tools import RAW_FIELDS, Tool

_raws = attrgetter(*RAW_FIELDS)
_encode = msgspec.json.Encoder().encode


def tool_digest(tool: Tool) -> bytes:
    """SHA-256 over every field of a tool, raw JSON as it was sent; null counts as absent."""
    for raw in _raws(tool):
        if raw is not ABSENT and is_absent(raw):
            tool = _without_nulls(tool)
            break
    return sha256(_encode(tool)).digest()


def _without_nulls(tool: Tool) -> Tool:
    nulls = [field for field in RAW_FIELDS if is_absent(getattr(tool, field))]
    return msgspec.structs.replace(tool, **dict.fromkeys(nulls, ABSENT))


def catalog_digest(tools: Iterable[bytes]) -> str:
    """SHA-256 over the sorted, distinct tool digests: the order of a list does not matter."""
    return sha256(b"".join(sorted(set(tools)))).hexdigest()
