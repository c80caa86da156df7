"""An answer's body, read up to a limit that holds after decompression."""

import zlib

MAX_BYTES = 1 << 20
"""Bytes of an answer, before and after decompression; names fit many times over."""

_GZIP = zlib.MAX_WBITS | 16


class AnswerError(ValueError):
    """The answer is not one; the message says why, without repeating any of it."""


class BoundedBody:
    """Collects a body chunk by chunk and never holds more than the limit.

    Only gzip is undone, the one encoding that requests ask for.
    """

    def __init__(self, content_encoding: str = "", limit: int = MAX_BYTES) -> None:
        """Prepare for one body.

        Raises:
            AnswerError: it comes in an encoding nobody asked for.
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
        """The whole body.

        Raises:
            AnswerError: the gzip stream stops early.
        """
        if self._inflate is not None and self._read and not self._inflate.eof:
            raise AnswerError("broken gzip")
        return b"".join(self._parts)
