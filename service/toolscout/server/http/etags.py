"""Entity tags: the digest of a catalog's content, for conditional requests."""

from toolscout.contract.bounds import MAX_TAGS
from toolscout.errors import FieldError, InvalidRequest
from toolscout.server.http.answer import Answer
from toolscout.server.http.request import Request


def tag(digest: str) -> list[tuple[bytes, bytes]]:
    """Return the headers with the entity tag and the digest."""
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


def not_modified(request: Request, digest: str) -> Answer | None:
    """Return a 304 if the caller already has this content, else None."""
    if not names(request.header(b"if-none-match"), digest):
        return None
    return Answer(headers=tag(digest), status=304)
