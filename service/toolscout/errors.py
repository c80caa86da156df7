"""What can be wrong with a request, as exceptions that know their error code.

ToolscoutError
├── InvalidRequest      a field is missing, of the wrong type or out of bounds
│   ├── InvalidJson     the bytes are not JSON at all
│   ├── EmptyPattern    the pattern is blank
│   └── TooManyTools    more distinct tools than the limit
├── CatalogUnknown      no catalogue of that digest is known here
└── ConfigurationError  a setting is unknown, malformed or contradicts another
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong, at one place: `tools[17].name`."""

    path: str
    message: str


class ToolscoutError(Exception):
    """Base of every error raised on purpose; `code` is the stable name of its kind."""

    code = "internal_error"

    def __init__(self, detail: str, errors: tuple[FieldError, ...] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = errors


class InvalidRequest(ToolscoutError):
    """The request is JSON, but not one this endpoint understands."""

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


class CatalogUnknown(ToolscoutError):
    """The caller named a catalogue that was never sent, or has been evicted since."""

    code = "catalog_unknown"


class ConfigurationError(ToolscoutError):
    """The service cannot start as configured."""

    code = "configuration_error"
