"""The errors of requests, as exceptions with their error codes.

ToolscoutError
├── InvalidRequest      a field is missing, of the wrong type or out of bounds
│   ├── InvalidJson     the bytes are not JSON at all
│   ├── EmptyPattern    the pattern is blank
│   ├── TooManyTools    more distinct tools than the limit
│   │   └── TooLargeToKeep  compiled, they do not fit into `cache_bytes`
│   ├── BadCursor       a cursor belongs to another list
│   └── InvalidTool     an item of `tools` is no tool of any known shape (also InvalidArgument)
├── InvalidArgument     an argument has the wrong type (also a TypeError)
├── CatalogUnknown      no catalog of that name or digest is known here
├── Overloaded          more work waits than can be done in time
└── ConfigurationError  a setting is unknown, malformed or contradicts another
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Self

import msgspec

NOT_JSON = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""What decoding raises for bytes that are not JSON."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong, at one place: `tools[17].name`."""

    path: str
    """Path of the field, such as `tools[17].name`."""
    message: str
    """What is wrong there."""


def wrong_field(root: str, error: msgspec.ValidationError) -> FieldError:
    """Turn a decoder's message (`… - at `$[17].name``) into the path and message of an error.

    Quoted values are left out, because errors never repeat tool text.
    """
    place = str(error).replace(" - at `key` in `$", " - at `$")
    message, _, where = place.partition(" - at `$")
    path = (root + where.rstrip("`")).lstrip(".")
    return FieldError(path or "body", put_in_words(message.partition(" '")[0]))


_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
"""The decoder's names of kinds of values, in words."""

UNKNOWN_KEY = re.compile(r"Object contains unknown field `([^`]*)`")
_BOUNDS = {"<=": "at most", ">=": "at least", "<": "less than", ">": "more than", "==": "exactly"}


def put_in_words(message: str) -> str:
    """Say what the decoder says without its types; other messages stay as they are."""
    for pattern, words in _WORDS.items():
        if match := pattern.match(message):
            return words(*match.groups())
    return message


def _describe_size(kind: str, bound: str, size: str) -> str:
    one, more = ("character", "characters") if kind == "str" else ("entry", "entries")
    return f"expected {_BOUNDS[bound]} {int(size):,} {one if size == '1' else more}"


_WORDS: dict[re.Pattern[str], Callable[..., str]] = {
    re.compile(r"Expected `([^`]+)`, got `([^`]+)`$"): lambda expected, got: (
        f"expected {_describe_kind(expected)}, got {_describe_kind(got)}"
    ),
    re.compile(r"Expected `([^`]+)` of length ([<>]=|==) (\d+)$"): _describe_size,
    re.compile(r"Expected `[^`]+` ([<>]=?) ([\d.]+)$"): lambda bound, amount: (
        f"expected {_BOUNDS[bound]} {float(amount):,g}"
    ),
    re.compile(r"Expected `[^`]+` that's a multiple of 1(?:\.0)?$"): lambda: (
        "expected a whole number"
    ),
    re.compile(r"Object missing required field `([^`]+)`$"): lambda name: f"`{name}` is missing",
    UNKNOWN_KEY: lambda name: f"`{name}` is not known",
}


def _describe_kind(names: str) -> str:
    kinds = [kind for kind in names.split(" | ") if kind != "null"] or ["null"]
    return " or ".join(_KINDS.get(kind, kind) for kind in kinds)


class ToolscoutError(Exception):
    """Base of every expected error; `code` is the stable name of its kind."""

    code = "internal_error"

    def __init__(self, detail: str, errors: tuple[FieldError, ...] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = errors


class InvalidRequest(ToolscoutError):
    """The request is JSON, but not valid for this endpoint."""

    code = "invalid_request"


class InvalidJson(InvalidRequest):
    """The body, or a raw definition inside it, is not valid JSON."""

    code = "invalid_json"


class EmptyPattern(InvalidRequest):
    """There is nothing to search for."""

    code = "empty_pattern"


class TooManyTools(InvalidRequest):
    """More distinct tools than the configured limit."""

    code = "too_many_tools"


class TooLargeToKeep(TooManyTools):
    """The tools, compiled, take more than `cache_bytes` leaves for catalogs."""


class InvalidArgument(ToolscoutError, TypeError):
    """An argument has the wrong type; the message says which, what was expected and what came."""

    code = "invalid_argument"

    @classmethod
    def of(cls, name: str, expected: str, got: object) -> Self:
        """Make an error with the common message; values are not repeated."""
        message = f"expected {expected}, got {type(got).__name__}"
        return cls(f"{name}: {message}", (FieldError(name, message),))


MEANT = {
    "k": "top_k",
    "n": "top_k",
    "limit": "top_k",
    "query": "pattern",
    "-k": "--top-k",
    "-n": "--top-k",
}
"""Names that other libraries and programs have for ours."""


def suggest(name: object, valid: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest that is known, if any is.

    A slip leaves the first letter; a name that begins otherwise means something else, unless it is
    what other libraries call it.
    """
    if not isinstance(name, str):
        return ""
    valid = [*valid]
    if MEANT.get(name) in valid:
        return f"; did you mean {MEANT[name]}?"
    first = name.lstrip("-")[:1].lower()
    alike = [one for one in valid if one.lstrip("-")[:1].lower() == first]
    near = get_close_matches(name, alike, 1)
    return f"; did you mean {near[0]}?" if near else ""


def check_names(argument: str, names: Any) -> None:
    """Refuse what is no collection of names.

    Raises:
        InvalidArgument: it is a text, or something in it is no text, or an empty one.
    """
    if (
        isinstance(names, str)
        or not isinstance(names, Collection)
        or not all(isinstance(name, str) and name for name in names)
    ):
        raise InvalidArgument.of(argument, "a collection of names", names)


def check_count(argument: str, value: Any, least: int) -> None:
    """Refuse what is no whole number from `least` up.

    Raises:
        InvalidArgument: it is another value.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        got = value if isinstance(value, int) else type(value).__name__
        raise InvalidArgument(f"{argument}: expected a whole number from {least} up, got {got}")


def check_switches(**switches: object) -> None:
    """Refuse arguments that are neither true nor false.

    Raises:
        InvalidArgument: one is something else.
    """
    for argument, value in switches.items():
        if not isinstance(value, bool):
            raise InvalidArgument.of(argument, "true or false", value)


class InvalidTool(InvalidRequest, InvalidArgument):
    """An item of `tools` is neither a mapping, a dataclass, a struct nor a pydantic model."""


class CatalogUnknown(ToolscoutError):
    """The caller named a catalog that was never sent, or has been evicted since."""

    code = "catalog_unknown"


class Overloaded(ToolscoutError):
    """More requests wait than can be answered in time."""

    code = "overloaded"
    reason = "unknown_tools"
    """The reason in metrics."""


class TooMuchWork(Overloaded):
    """All threads for long work are busy, or the work took too long."""

    reason = "threads"


class WorkerUnavailable(Overloaded):
    """The worker that compiles new tools does not answer, and is being replaced."""

    code = "worker_unavailable"
    reason = "worker"


class BadCursor(InvalidRequest):
    """A cursor is malformed, or belongs to different content."""

    code = "bad_cursor"


class ConfigurationError(ToolscoutError):
    """The service cannot start as configured."""

    code = "configuration_error"
