"""The body of a request to the proxy, which is held to be searched or passed on as it comes in."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Iterator

import httpx2

from toolscout.client.connections import GZIP
from toolscout.gateway.callers import CallerRefused
from toolscout.serving.limited import Receive
from toolscout.turns.drivers.pieces import MAX_PIECE_BYTES

NOT_GZIP = "not in gzip, as it says"


class ForwardedBody(httpx2.AsyncByteStream):
    """The body of a request as it comes in.

    Args:
        receive: ASGI's.
        timeout_s: seconds to wait for each piece.
    """

    def __init__(self, receive: Receive, timeout_s: float) -> None:
        self._receive = receive
        self._timeout_s = timeout_s
        self._pieces: list[bytes] = []
        self.is_read = asyncio.Event()
        self.held = 0
        """Bytes that were read to be held."""

    async def hold(
        self, lacking: Callable[[int], str | None], gunzip: "Gunzip | None" = None
    ) -> bytes | str:
        """Return the whole body, or why it is not held to the end.

        All pieces of one that is longer, or slower, come out of the iteration.

        Args:
            lacking: gets the size of each piece, and returns why there is no room for it, if so.
            gunzip: unpacks the pieces, whose sizes count as well.
        """
        parts = []
        try:
            async with asyncio.timeout(self._timeout_s):
                while not self.is_read.is_set():
                    piece = await self._read()
                    self._pieces.append(piece)
                    self.held += len(piece)
                    if (reason := lacking(len(piece))) is not None:
                        return reason
                    if gunzip is None:
                        continue
                    for part in gunzip.unpack(piece):
                        parts.append(part)
                        self.held += len(part)
                        if (reason := lacking(len(part))) is not None:
                            return reason
                        await asyncio.sleep(0)  # a piece may hold a thousand times its size
        except TimeoutError:
            return "too slow"
        except zlib.error:
            return NOT_GZIP
        if gunzip is not None and not gunzip.is_whole:
            return NOT_GZIP
        body = b"".join(self._pieces if gunzip is None else parts)
        self._pieces.clear()
        return body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the pieces.

        Raises:
            Refused: the next one did not arrive in time.
            asyncio.CancelledError: the caller has gone.
        """
        while self._pieces:
            yield self._pieces.pop(0)
        while not self.is_read.is_set():
            try:
                async with asyncio.timeout(self._timeout_s):
                    piece = await self._read()
            except TimeoutError:
                raise CallerRefused(
                    408, "body_timeout", "the body did not arrive in time"
                ) from None
            if piece:
                yield piece

    async def until_gone(self) -> None:
        """Wait until the caller has gone."""
        await self.is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _read(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise asyncio.CancelledError
        if not message.get("more_body"):
            self.is_read.set()
        piece: bytes = message.get("body", b"")
        return piece


class Gunzip:
    """Unpacks gzip a small piece at a time."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(GZIP)

    def unpack(self, piece: bytes) -> Iterator[bytes]:
        """Yield what a piece holds.

        Raises:
            zlib.error: it is not in gzip, or something follows its end.
        """
        if self.is_whole and piece:
            raise zlib.error("something follows the end")
        while piece:
            yield self._stream.decompress(piece, MAX_PIECE_BYTES)
            piece = self._stream.unconsumed_tail
        if self._stream.unused_data:
            raise zlib.error("something follows the end")

    @property
    def is_whole(self) -> bool:
        """Whether the end has come."""
        return self._stream.eof
