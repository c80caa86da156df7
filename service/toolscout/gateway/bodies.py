"""The body of a request to the proxy, which is held to be searched or passed on as it comes in."""

import asyncio
from collections.abc import AsyncIterator, Callable

import httpx2

from toolscout.gateway.callers import CallerRefused
from toolscout.serving.limited import Receive


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

    async def hold(self, lacking: Callable[[int], str | None]) -> bytes | str:
        """Return the whole body, or why it is not held to the end.

        All pieces of one that is longer, or slower, come out of the iteration.

        Args:
            lacking: gets the size of each piece, and returns why there is no room for it, if so.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                while not self.is_read.is_set():
                    piece = await self._read()
                    self._pieces.append(piece)
                    self.held += len(piece)
                    if (reason := lacking(len(piece))) is not None:
                        return reason
        except TimeoutError:
            return "too slow"
        body = b"".join(self._pieces)
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
