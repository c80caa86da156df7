"""Error answers: RFC 9457 problem documents, from the table `problems.toml`."""

from collections.abc import Iterable, Sequence
from importlib.resources import files

import msgspec

from toolscout.errors import FieldError

MAX_ERRORS = 8
"""Field errors listed in one answer; bodies stay under 2 KiB."""

MAX_TEXT = 160
"""Characters of one message; callers write whole error bodies into their logs."""

MAX_SUGGESTED_BYTES = 1_000
"""Room for suggested names in one answer."""


class Code(msgspec.Struct, frozen=True):
    """One kind of error: status, constant title, explanation, and when to try again."""

    status: int
    title: str
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
