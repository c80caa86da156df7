"""Read an answer: its body up to a limit, and the names in it that were offered."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from toolscout.errors import NOT_JSON

MAX_BYTES = 1 << 20
"""Maximum bytes of an answer, before and after decompression; far more than names need."""

_GZIP = zlib.MAX_WBITS | 16


class AnswerError(ValueError):
    """The answer is not usable; the message says why, without repeating any of it."""


class BoundedBody:
    """Collects a body chunk by chunk and never holds more than the limit.

    Only gzip is decompressed, the one encoding that requests accept.
    """

    def __init__(self, content_encoding: str = "", limit: int = MAX_BYTES) -> None:
        """Prepare for one body.

        Raises:
            AnswerError: its encoding was not requested.
        """
        coding = content_encoding.strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip"):
            raise AnswerError("unsupported content encoding")
        self._inflate = zlib.decompressobj(_GZIP) if "gzip" in coding else None
        self._limit = limit
        self._read = 0
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes as they came over the wire.

        Raises:
            AnswerError: the body is too long, or not the gzip it claims to be.
        """
        self._read += len(chunk)
        if self._inflate is not None:
            try:
                # One byte past the limit is enough to know.
                chunk = self._inflate.decompress(chunk, self._limit - self._size + 1)
            except zlib.error:
                raise AnswerError("broken gzip") from None
        self._size += len(chunk)
        if self._size > self._limit or self._read > self._limit:
            raise AnswerError(f"answer longer than {self._limit} bytes")
        self._parts.append(chunk)

    def finish(self) -> bytes:
        """Return the whole body.

        Raises:
            AnswerError: the gzip stream stops early.
        """
        if self._inflate is not None and self._read and not self._inflate.eof:
            raise AnswerError("broken gzip")
        return b"".join(self._parts)


def names_in(body: bytes) -> list[str]:
    """Return the names of an answer, in either contract; missing and null are an empty list.

    Keys count in any case, as they do for the proxies.

    Raises:
        AnswerError: it is not JSON, not an object, names are not texts, or it says it failed.
    """
    try:
        decoded = msgspec.json.decode(body)
    except NOT_JSON:
        raise AnswerError("answer is not JSON" if body else "answer is empty") from None
    if not isinstance(decoded, dict):
        raise AnswerError("answer is not an object")
    fields = {key.lower(): value for key, value in decoded.items()}
    if fields.get("success") is False:
        raise AnswerError("answer says it failed")
    names: Any = fields.get("selected_names")
    data = fields.get("data")
    if names is None and isinstance(data, dict):
        names = data.get("relevant_tools")
    if names is None:
        return []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise AnswerError("selected_names is not a list of texts")
    return names


def usable(
    names: Iterable[str], offered: Mapping[str, Any], top_k: int, always_keep: Sequence[str]
) -> list[str]:
    """Return known names, each once, at most `top_k`, in the order of the answer.

    Missing pins are added at the end, but never replace the first match. Without a known name the
    list is empty.
    """
    chosen = [name for name in dict.fromkeys(names) if name in offered]
    if not chosen:
        return []
    pins = [name for name in dict.fromkeys(always_keep) if name in offered][: top_k - 1]
    kept = set(pins)
    for name in chosen:
        if len(kept) >= top_k:
            break
        kept.add(name)
    ordered = [name for name in chosen if name in kept]
    return ordered + [pin for pin in pins if pin not in ordered]


def selection_header(value: str) -> dict[str, str]:
    """Return the parts of `X-Tool-Selection: 258->5; ranker=hybrid; outcome=match; degraded=no`."""
    pairs = (part.partition("=") for part in value.split(";"))
    return {key.strip().lower(): text.strip() for key, _, text in pairs if text}
