"""JSON and events of providers, read as leniently as the SDKs read them.

What an SDK can read has to be read here too: else a call of the search tool would reach a caller
that has no such tool.
"""

import json
import logging
import zlib
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Any, Protocol, TypeVar

import httpx2
import msgspec

from toolscout.discovery.blocking import Blocking

UNREADABLE = (ValueError, RecursionError)
"""What decoding raises for bytes that are no JSON."""

_GZIP_OR_ZLIB = 47
"""Tells zlib to recognise either format by its head."""

_RAW = -zlib.MAX_WBITS
"""Tells zlib that there is no head."""

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
    if _encoding(headers) in _PLAIN:
        return content
    if _encoding(headers) not in _INFLATED:
        return None
    decoder, pieces, size = _Decoder(), [], 0
    try:
        for piece in decoder.feed(content):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                return None
    except zlib.error:
        return None
    return b"".join(pieces) if decoder.is_whole else None


class _Decoder:
    """Decodes gzip, of which there may be several members, zlib, and deflate without a head."""

    def __init__(self) -> None:
        self._window = _GZIP_OR_ZLIB
        self._inflate = zlib.decompressobj(self._window)
        self._head: bytes | None = b""
        """What was fed before anything came out; None afterwards."""

    @property
    def is_whole(self) -> bool:
        """Whether the content may end here."""
        return self._inflate.eof or self._head == b""

    def feed(self, content: bytes) -> Iterator[bytes]:
        """Yield what the next content decodes to, in small pieces: 64 KiB may hold 64 MiB.

        Raises:
            zlib.error: it is in no such format.
        """
        while content:
            if self._inflate.eof:
                self._inflate = zlib.decompressobj(self._window)
            if self._head is not None:
                self._head += content
            try:
                piece = self._inflate.decompress(content, MAX_PIECE)
            except zlib.error:
                if self._head is None or self._window == _RAW:
                    raise
                content, self._head, self._window = self._head, b"", _RAW
                self._inflate = zlib.decompressobj(self._window)
                continue
            if piece or self._inflate.eof:
                self._head = None
            content = self._inflate.unconsumed_tail or self._inflate.unused_data
            yield piece


def _encoding(headers: httpx2.Headers) -> str:
    return headers.get("content-encoding", "identity").strip().lower()


async def inflated(pieces: Pieces, headers: httpx2.Headers) -> AsyncGenerator[bytes, None]:
    """Decode the content of a response piece by piece.

    Raises:
        httpx2.DecodingError: it is not what its `Content-Encoding` says.
    """
    decoder = None if _encoding(headers) in _PLAIN else _Decoder()
    async with aclosing(pieces):
        async for piece in pieces:
            if decoder is None:
                yield piece
                continue
            try:
                for part in decoder.feed(piece):
                    yield part
            except zlib.error as error:
                raise httpx2.DecodingError(str(error)) from None
