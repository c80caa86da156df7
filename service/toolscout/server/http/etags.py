"""Entity tags: the digest of a catalog's content, for conditional requests."""

from toolscout.contract.bounds import MAX_TAGS
from toolscout.errors import FieldError, InvalidRequest
from toolscout.server.http.exchange import Exchange


def tag(digest: str) -> list[tuple[bytes, bytes]]:
    """The headers that tell the content."""
    return [(b"etag", f'"{digest}"'.encode()), (b"x-catalog-digest", digest.encode())]


def names(header: bytes, digest: str) -> bool:
    """Whether the value of `If-Match` or `If-None-Match` names this content.

    Raises:
        InvalidRequest: it lists too many.
    """
    if header.count(b",") >= MAX_TAGS:
        message = f"at most {MAX_TAGS} entity tags, got {header.count(b',') + 1}"
        where = "If-Match, If-None-Match"
        raise InvalidRequest(f"{where}: {message}", (FieldError(where, message),))
    named = [each.strip().removeprefix(b"W/").strip(b'"') for each in header.split(b",")]
    return b"*" in named or digest.encode() in named


async def is_known(exchange: Exchange, digest: str) -> bool:
    """Whether the caller has this content already; then that is answered (304)."""
    if not names(exchange.header(b"if-none-match"), digest):
        return False
    await exchange.answer(304, b"", tag(digest))
    return True
