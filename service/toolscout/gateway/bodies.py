"""The body of a request to the proxy, which is held to be searched or passed on as it comes in."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import httpx2

from toolscout.serving.server import Receive


class Refused(Exception):  # noqa: N818 - an answer, not a failure
    """A request that is not forwarded, or an answer that cannot be."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail


class Body(httpx2.AsyncByteStream):
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

    async def hold(self, has_room: Callable[[int], bool]) -> bytes | None:
        """Read the whole body while there is room for each piece.

        None if it is longer, or slower: its pieces then come out of the iteration, all of them.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                while not self.is_read.is_set():
                    piece = await self._read()
                    self._pieces.append(piece)
                    if not has_room(len(piece)):
                        return None
                return b"".join(self._pieces)
        return None

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
                raise Refused(408, "body_timeout", "the body did not arrive in time") from None
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
