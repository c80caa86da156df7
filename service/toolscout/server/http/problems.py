"""Error answers: RFC 9457 problem documents, from one table of codes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from toolscout.errors import FieldError

MAX_ERRORS = 8
"""Field errors listed in one answer; bodies stay under 2 KiB."""

MAX_TEXT = 160
"""Characters of one message; callers write whole error bodies into their logs."""

MAX_SUGGESTED_BYTES = 1_000
"""Room for suggested names in one answer."""


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of error: status, constant title, explanation, and when to try again."""

    status: int
    title: str
    help: str
    """Cause and remedy; names in backquotes."""
    retry_after_s: int | None = None


CODES: dict[str, Code] = {
    "invalid_json": Code(
        400,
        "The body is not valid JSON",
        "`errors` says where the bytes stop being JSON. Nesting of thousands of levels counts too.",
    ),
    "bad_request": Code(
        400,
        "The request is not valid HTTP",
        "Its head or its chunks are malformed, or an HTTP/1.1 request has no `Host` or several.",
    ),
    "bad_cursor": Code(
        400,
        "The cursor is not one of this list",
        "The list has changed since the page before, or the cursor was made up. Begin without "
        "a cursor.",
    ),
    "unauthorized": Code(
        401,
        "A valid API key is required",
        "No key, one that is not known (any more) or has expired, or two different ones. A key is "
        "sent as `Authorization: Bearer KEY` or `X-API-Key: KEY`.",
    ),
    "forbidden": Code(
        403,
        "This caller may not do this",
        "Without keys, a browser may only ask from a page of this service: `Origin` names another "
        "page. List its host in `allowed_hosts` if it is meant to ask. With keys, the caller's key "
        "has not the scope that the call needs: `search`, `feedback`, `write` or `admin`.",
    ),
    "not_found": Code(
        404,
        "There is nothing at this path",
        "The path is misspelt, or belongs to something that is off: `learning` for feedback "
        "and chains, `mcp` for `/mcp`. Or the catalog has no tool of that name: `suggestions` "
        "lists those that it may have meant.",
    ),
    "catalog_unknown": Code(
        404,
        "No catalog of this digest is known here",
        "Send the tools again: this process never saw the digest, has dropped it for room, or "
        "was restarted. A registered name may have expired. It is the ordinary answer to a "
        "first call behind a balancer.",
    ),
    "method_not_allowed": Code(
        405,
        "This path does not answer this method",
        "`Allow` lists the methods that the path answers.",
    ),
    "body_timeout": Code(
        408,
        "The request did not arrive in time",
        "Its body took longer than `caller_timeout_s`, or its head longer than a third of it.",
    ),
    "precondition_failed": Code(
        412,
        "The catalog is not the one that was expected",
        "Somebody changed the catalog since the entity tag in `If-Match`, or it exists "
        "already (`If-None-Match: *`). Read it again.",
    ),
    "payload_too_large": Code(
        413,
        "The body is too large",
        "Send less, send the digest, or raise `max_body_bytes`.",
    ),
    "unsupported_media_type": Code(
        415,
        "The body must be uncompressed JSON",
        "Send `Content-Type: application/json` and no `Content-Encoding`. Where no key is "
        "needed, a body without `Content-Type` is refused too.",
    ),
    "misdirected": Code(
        421,
        "The service is not called by this name",
        "Without keys on a loopback address, `Host` must be a loopback name; otherwise a page "
        "could ask through a name that resolves to this machine. List other names in "
        "`allowed_hosts`.",
    ),
    "invalid_request": Code(
        422,
        "A field is missing, malformed or out of bounds",
        "`errors` lists up to eight fields by path, such as `tools[17].name`.",
    ),
    "empty_pattern": Code(
        422,
        "The pattern is blank",
        "Nothing but white space is in `pattern` or `query`.",
    ),
    "too_many_tools": Code(
        422,
        "Too many distinct tools",
        "More than `max_tools` distinct names in one request.",
    ),
    "rate_limited": Code(
        429,
        "This key has sent too many requests",
        "The tenant has used up `rate_limit`. `Retry-After` says when there is room again.",
    ),
    "headers_too_large": Code(
        431,
        "The head of the request is too large",
        "The request line with headers and trailers may have 64 KiB, one header 16 KiB, "
        "and there may be 128 of them.",
    ),
    "internal_error": Code(
        500,
        "The service failed",
        "A defect. The log has an event with the same `request_id`.",
    ),
    "overloaded": Code(
        503,
        "Too many requests at once",
        "`max_in_flight`, `max_lag_ms` or the queue of unknown tools is full, or what must be "
        "kept could not be (feedback, a registered catalog). `toolscout_shed_total` has the "
        "reason.",
        retry_after_s=1,
    ),
    "draining": Code(
        503,
        "The service is shutting down",
        "The process was told to stop. Another replica answers.",
        retry_after_s=5,
    ),
}

DOCS = "/docs/errors#"
"""Prefix of `type`: the page of this service that explains the code, by its anchor."""


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of every error answer. `success` and `error` are for the newer contract."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[FieldError] = []
    suggestions: list[str] = []
    """Names of tools similar to an unknown name."""
    success: bool | None = None
    error: str | None = None


def problem(
    code: str,
    detail: str,
    request_id: str,
    errors: Sequence[FieldError] = (),
    *,
    suggestions: Iterable[str] = (),
    newer_contract: bool = False,
) -> Problem:
    """Build an error body; texts are cut so that it stays short."""
    kind = CODES[code]
    return Problem(
        type=DOCS + code,
        title=kind.title,
        status=kind.status,
        detail=detail[:MAX_TEXT],
        code=code,
        request_id=request_id,
        errors=[
            FieldError(error.path[:MAX_TEXT], error.message[:MAX_TEXT])
            for error in errors[:MAX_ERRORS]
        ],
        suggestions=_names_that_fit(suggestions),
        success=False if newer_contract else None,
        error=detail[:MAX_TEXT] if newer_contract else None,
    )


def _names_that_fit(names: Iterable[str]) -> list[str]:
    """Return the first names that fit into an error body."""
    kept, room = [], MAX_SUGGESTED_BYTES
    for name in names:
        room -= len(msgspec.json.encode(name)) + 1
        if room < 0:
            break
        kept.append(name)
    return kept
