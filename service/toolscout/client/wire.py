"""JSON and events of providers, read as leniently as the SDKs read them.

What an SDK can read has to be read here too: else a call of the search tool would reach a caller
that has no such tool.
"""

import json
import logging
import zlib
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Any, Protocol, TypeVar

import httpx2
import msgspec

from toolscout.client.discovery.blocking import Blocking

UNREADABLE = (ValueError, RecursionError)
"""What decoding raises for bytes that are no JSON."""

_GZIP_OR_ZLIB = 47
"""Tells zlib to recognise either format by its head."""

_PLAIN = ("", "identity")
_INFLATED = ("gzip", "x-gzip", "deflate")

MAX_PIECE = 1 << 16
"""Bytes of a response that are decoded at a time."""

Pieces = AsyncGenerator[bytes, None] | Blocking
"""Of a response, in code that waits or blocks."""

logger = logging.getLogger("toolscout.client")


class Event(Protocol):
    """One event of a stream of any provider."""

    @property
    def raw(self) -> bytes:
        """Its bytes as they came."""


E = TypeVar("E", bound=Event)


def decode(content: bytes | str) -> Any:
    r"""Decode JSON, with lone surrogates (`"\ud83d"`) too, which msgspec refuses.

    Raises:
        ValueError: it is no JSON, or no UTF-8.
        RecursionError: it is nested too deeply.
    """
    try:
        return msgspec.json.decode(content)
    except ValueError:
        return json.loads(content)


def encode(value: Any) -> bytes:
    """Encode as JSON; with lone surrogates, in ASCII alone."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def handled(events: Iterable[E], handle: Callable[[E], bytes]) -> bytes:
    """Return what a stream makes of events; one of an unknown form passes as it came."""
    out = b""
    for event in events:
        try:
            out += handle(event)
        except Exception:
            logger.exception("an event of the model could not be read and is passed on as it came")
            out += event.raw
    return out


def can_decode(headers: httpx2.Headers) -> bool:
    """Return whether the content of a response is encoded in a way that is known here."""
    return _encoding(headers) in (*_PLAIN, *_INFLATED)


def decoded(content: bytes, headers: httpx2.Headers, most: int) -> bytes | None:
    """Decode the whole content of a response; None if it cannot be, or has more than `most`."""
    encoding = _encoding(headers)
    if encoding in _PLAIN:
        return content
    if encoding not in _INFLATED:
        return None
    found = _inflated(content, _GZIP_OR_ZLIB, most)
    return _inflated(content, -zlib.MAX_WBITS, most) if found is None else found


def _inflated(content: bytes, window: int, most: int) -> bytes | None:
    parts, left = [], most
    while content:  # a gzip may have several members
        inflate = zlib.decompressobj(window)
        try:
            parts.append(inflate.decompress(content, left + 1))
        except zlib.error:
            return None
        left -= len(parts[-1])
        if left < 0 or not inflate.eof:
            return None
        content = inflate.unused_data
    return b"".join(parts)


def _encoding(headers: httpx2.Headers) -> str:
    return headers.get("content-encoding", "identity").strip().lower()


async def inflated(pieces: Pieces, headers: httpx2.Headers) -> AsyncGenerator[bytes, None]:
    """Decode the content of a response in small pieces: one of 64 KiB may hold 64 MiB.

    Raises:
        httpx2.DecodingError: it is not what its `Content-Encoding` says.
    """
    inflate = None if _encoding(headers) in _PLAIN else zlib.decompressobj(_GZIP_OR_ZLIB)
    async with aclosing(pieces):
        async for piece in pieces:
            left = piece
            while inflate is not None and left:
                try:
                    yield inflate.decompress(left, MAX_PIECE)
                except zlib.error as error:
                    raise httpx2.DecodingError(str(error)) from None
                left = inflate.unconsumed_tail
            if inflate is None:
                yield piece
