"""Refusals of requests, and the RFC 9457 problem documents that explain them.

The kinds of errors are in the table `problems.toml`.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

import msgspec

from toolscout.common.json_errors import explain_body
from toolscout.contract.fields import CHOICES
from toolscout.contract.requests import Filters
from toolscout.errors import (
    UNKNOWN_KEY,
    EmptyPattern,
    FieldError,
    InvalidRequest,
    ToolscoutError,
    wrong_field,
)
from toolscout.state.store import StoreFull, StoreRefused, StoreUnavailable

MAX_ERRORS = 8
"""Field errors listed in one answer; bodies stay under 2 KiB."""

MAX_TEXT = 160
"""Characters of one message; callers write whole error bodies into their logs."""

MAX_SUGGESTED_BYTES = 1_000
"""Room for suggested names in one answer."""


class Code(msgspec.Struct, frozen=True):
    """One kind of error: status, constant title, explanation, and when to try again."""

    status: int
    """`unavailable` tools are never selected."""
    title: str
    """The same for every error of the code."""
    help: str
    """Cause and remedy; names in backquotes."""
    retry_after_s: int | None = None


CODES = msgspec.toml.decode(
    files(__package__).joinpath("problems.toml").read_bytes(), type=dict[str, Code]
)

DOCS = "/docs/errors#"
"""Prefix of `type`: the page of this service that explains the code, by its anchor."""


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of every error answer. `success` and `error` are for the newer contract."""

    type: str
    """An identifier of the code."""
    title: str
    """The same for every error of the code."""
    status: int
    """The HTTP status."""
    detail: str
    """What was wrong with this request."""
    code: str
    """Stable; one of [the errors](#errors)."""
    request_id: str
    """Also in `X-Request-Id` and in the log."""
    errors: list[FieldError] = []
    """The first eight errors, each with its path."""
    suggestions: list[str] = []
    """Names of tools similar to an unknown name."""
    success: bool | None = None
    """False, for callers of the newer contract."""
    error: str | None = None
    """`detail`, for callers of the newer contract."""


def write_problem(refused: "Refused", request_id: str, *, newer_contract: bool) -> Problem:
    """Build an error body; texts are cut so that it stays short."""
    kind = CODES[refused.code]
    detail = refused.detail[:MAX_TEXT]
    return Problem(
        type=DOCS + refused.code,
        title=kind.title,
        status=kind.status,
        detail=detail,
        code=refused.code,
        request_id=request_id,
        errors=[
            FieldError(error.path[:MAX_TEXT], error.message[:MAX_TEXT])
            for error in refused.errors[:MAX_ERRORS]
        ],
        suggestions=_cut_names(refused.suggestions),
        success=False if newer_contract else None,
        error=detail if newer_contract else None,
    )


def _cut_names(names: Iterable[str]) -> list[str]:
    """Return the first names that fit into an error body."""
    kept = []
    room = MAX_SUGGESTED_BYTES
    for name in names:
        room -= len(msgspec.json.encode(name)) + 1
        if room < 0:
            break
        kept.append(name)
    return kept


_ONLY_NULL = "expected null,"
_NO_CHOICE = "Invalid enum value"
_WORD = re.compile(r"^Invalid enum value '([\w+.-]{1,32})'")
FILTER_KEYS = Filters.__struct_fields__
MAX_KEY_SHOWN = 64


class Refused(Exception):  # noqa: N818 - an answer, not a failure
    """A request that ends in an error answer."""

    def __init__(
        self,
        code: str,
        detail: str,
        errors: Sequence[FieldError] = (),
        headers: Sequence[tuple[bytes, bytes]] = (),
        suggestions: Sequence[str] = (),
    ) -> None:
        self.code = code
        self.detail = detail
        self.errors = errors
        self.headers = headers
        self.suggestions = suggestions

    def __str__(self) -> str:
        return self.detail

    def __reduce__(self) -> tuple[Any, ...]:
        """Let the worker refuse, too."""
        parts = (self.code, self.detail, self.errors, self.headers, self.suggestions)
        return Refused, parts


REFUSALS = (Refused, ToolscoutError, StoreUnavailable)
"""Exceptions that become error answers."""


def refuse(error: Refused | ToolscoutError | StoreUnavailable) -> Refused:
    """Return the error answer for an exception."""
    if isinstance(error, ToolscoutError):
        return Refused(error.code, error.detail, error.errors)
    if isinstance(error, StoreFull):
        return Refused("store_unavailable", "the state store is full; delete what is not needed")
    if isinstance(error, StoreRefused):
        return Refused("store_unavailable", "the state store refused this request")
    if isinstance(error, StoreUnavailable):
        return Refused("store_unavailable", "the state store could not be reached")
    return error


def refuse_long(got: int, limit: int) -> InvalidRequest:
    """Make the error for a too large answer, with the field that makes it smaller."""
    message = f"the answer would have {got} bytes, at most {limit} may be"
    remedy = "lower top_k, page_size, detail, token_budget or the number of names"
    return InvalidRequest(f"{message}: {remedy}", (FieldError("body", message),))


def explain_filter(key: str) -> FieldError:
    """Name an unknown key inside `filters`, and the nearest known one."""
    key = key[:MAX_KEY_SHOWN]
    near = get_close_matches(key.lower(), FILTER_KEYS, 1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"the filters are {', '.join(FILTER_KEYS)}"
    return FieldError(f"filters.{key}", f"is not a filter; {hint}")


def _repeat_value(error: msgspec.ValidationError, choices: Sequence[str]) -> str:
    """Repeat a value that is nearly one of the choices; any other could be a text or a secret."""
    match = _WORD.search(str(error))
    return f'; got "{match[1]}"' if match and get_close_matches(match[1], choices, 1) else ""


def refuse_field(field: str, message: str) -> InvalidRequest:
    """Return the error of a field that is wrong."""
    return InvalidRequest(f"{field}: {message}", (FieldError(field, message),))


def refuse_blank(field: str) -> EmptyPattern:
    """Return the error of a text that says nothing."""
    return EmptyPattern(f"{field} is blank", (FieldError(field, "must not be blank"),))


def decode_error(body: bytes, error: Exception) -> Refused:
    """Describe why a body did not decode, without repeating any of it."""
    if isinstance(error, msgspec.ValidationError):
        wrong = wrong_field("", error)
        choices = CHOICES.get(wrong.path.rpartition(".")[2].partition("[")[0], ())
        if unknown := UNKNOWN_KEY.match(str(error)):
            wrong = explain_filter(unknown[1])
        elif wrong.message.startswith(_ONLY_NULL):
            # Only a batch has such fields.
            wrong = FieldError(wrong.path, "belongs to an entry of `patterns`")
        elif wrong.message == _NO_CHOICE and choices:
            message = f"expected one of {', '.join(choices)}{_repeat_value(error, choices)}"
            wrong = FieldError(wrong.path, message)
        return Refused("invalid_request", f"{wrong.path}: {wrong.message}", (wrong,))
    reason = explain_body(body, error)
    return Refused("invalid_json", f"the body is not valid JSON: {reason.message}", (reason,))
