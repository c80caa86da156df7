"""Say where bytes stop being JSON, and why, without repeating any of them."""

import codecs
import re

from toolscout.errors import FieldError

_BYTE = re.compile(r" \(byte (\d+)\)$")

ENCODINGS = {
    codecs.BOM_UTF8: "it begins with a byte order mark, which JSON has not",
    codecs.BOM_UTF16_LE: "it is UTF-16, not UTF-8",
    codecs.BOM_UTF16_BE: "it is UTF-16, not UTF-8",
}
"""What is said of the marks that some programs write before a text."""


def explain_json(path: str, error: Exception) -> FieldError:
    """Describe what is not JSON at a path."""
    if isinstance(error, RecursionError):
        return FieldError(path, "nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return FieldError(path, "not valid UTF-8")
    return FieldError(path, str(error).partition(" '")[0])


def explain_body(body: bytes, error: Exception) -> FieldError:
    """Describe what is not JSON in the body of a request, with line and column, from 1."""
    if not body.strip():
        return FieldError("body", "it is empty")
    for mark, said in ENCODINGS.items():
        if body.startswith(mark):
            return FieldError("body", said)
    reason = _BYTE.sub("", explain_json("body", error).message)
    end = find_end(body, error)
    if end is None:
        return FieldError("body", reason)
    line, column = locate(body, end)
    return FieldError("body", f"{reason} (line {line}, column {column})")


def find_end(data: bytes, error: Exception) -> int | None:
    """Return the offset of the byte at which data stops being JSON; None if unknown."""
    if isinstance(error, UnicodeDecodeError):
        return error.start
    if isinstance(error, RecursionError):
        return None
    if match := _BYTE.search(str(error)):
        return int(match[1]) - ("trailing characters" in str(error))  # names the byte after
    return len(data)  # cut short


def locate(data: bytes, end: int) -> tuple[int, int]:
    """Return line and column of the byte at an offset, both from 1."""
    start = data.rfind(b"\n", 0, end) + 1
    before = data[start:end].decode("utf-8", "replace")
    return data.count(b"\n", 0, end) + 1, len(before) + 1
