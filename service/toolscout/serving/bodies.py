"""Bodies that are read whole, within limits, before an application decodes them.

Decoding JSON holds the interpreter lock for 90 to 500 ns a value, and libraries that validate it
take ten times that: 4 MB of brackets held a gateway up for two seconds.
"""

import asyncio
from collections.abc import MutableMapping
from typing import Any

from toolscout.contract.bounds import MAX_VALUES, count_values
from toolscout.serving.limited import Receive

MAX_BYTES = 4 * 1024 * 1024
"""Maximum size of a body."""

MAX_HELD_BYTES = 32 * 1024 * 1024
"""Maximum size of all bodies that are being read or answered."""


class BodyRefused(Exception):  # noqa: N818 - an answer, not a failure
    """A body that is not read further."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class Bodies:
    """Reads bodies, and bounds their number of bytes together.

    Args:
        timeout_s: seconds that a whole body may take.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._held = 0

    async def read(self, receive: Receive) -> bytes:
        """Read a body whole; `release` it when it is answered.

        Raises:
            BodyRefused: it is too large or too slow, or there is no room for it now.
        """
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._timeout_s):
                has_more = True
                while has_more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise BodyRefused(400, "the body broke off")
                    piece: bytes = message.get("body", b"")
                    pieces.append(piece)
                    size += len(piece)
                    self._held += len(piece)
                    has_more = message.get("more_body", False)
                    self._check(size)
            body = b"".join(pieces)
            if count_values(body) > MAX_VALUES:
                raise BodyRefused(413, f"a body may have at most {MAX_VALUES} values")
        except BaseException as error:
            self._held -= size
            if isinstance(error, TimeoutError):
                raise BodyRefused(408, "the body did not arrive in time") from None
            raise
        return body

    def release(self, body: bytes) -> None:
        """Note that a body was answered."""
        self._held -= len(body)

    def _check(self, size: int) -> None:
        if size > MAX_BYTES:
            raise BodyRefused(413, f"a body may have at most {MAX_BYTES} bytes")
        if self._held > MAX_HELD_BYTES:
            raise BodyRefused(503, "too many bytes at once; try again shortly")


def replay(body: bytes, receive: Receive) -> Receive:
    """Return what receives a body that was read, and then what comes after it."""
    is_sent = False

    async def again() -> MutableMapping[str, Any]:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
