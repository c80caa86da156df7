"""Errors on the wire: RFC 9457 problem documents, from one table of codes."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from toolscout.errors import FieldError

MAX_ERRORS = 8
"""Field errors listed in one answer; bodies stay under 2 KiB."""

MAX_TEXT = 160
"""Characters of one message; callers write whole error bodies into their logs."""


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of error: its status, its constant title, and whether trying later can help."""

    status: int
    title: str
    retry_after_s: int | None = None


CODES: dict[str, Code] = {
    "invalid_json": Code(400, "The body is not valid JSON"),
    "bad_cursor": Code(400, "The cursor is not one of this list"),
    "unauthorized": Code(401, "A valid API key is required"),
    "not_found": Code(404, "There is nothing at this path"),
    "catalog_unknown": Code(404, "No catalogue of this digest is known here"),
    "method_not_allowed": Code(405, "This path does not answer this method"),
    "precondition_failed": Code(412, "The catalogue is not the one that was expected"),
    "payload_too_large": Code(413, "The body is too large"),
    "unsupported_media_type": Code(415, "The body must be uncompressed JSON"),
    "invalid_request": Code(422, "A field is missing, malformed or out of bounds"),
    "empty_pattern": Code(422, "The pattern is blank"),
    "too_many_tools": Code(422, "Too many distinct tools"),
    "rate_limited": Code(429, "This key has sent too many requests"),
    "internal_error": Code(500, "The service failed"),
    "overloaded": Code(503, "Too many requests at once", retry_after_s=1),
    "draining": Code(503, "The service is shutting down", retry_after_s=5),
}

DOCS = "https://toolscout.dev/errors#"
"""Prefix of `type`: an identifier of the problem's kind, with the code as its fragment."""


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of every error answer. `success` and `error` are for the newer contract."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[FieldError] = []
    success: bool | None = None
    error: str | None = None


def problem(
    code: str,
    detail: str,
    request_id: str,
    errors: Sequence[FieldError] = (),
    *,
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
        success=False if newer_contract else None,
        error=detail[:MAX_TEXT] if newer_contract else None,
    )
