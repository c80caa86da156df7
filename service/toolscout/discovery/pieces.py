"""Bodies of responses as they come, in code that waits and in code that blocks.

The flow is written once, as coroutines. Those of blocking code never wait, so `run` ends them
without an event loop.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from inspect import isawaitable
from typing import Any, TypeVar

import httpx2

T = TypeVar("T")

MAX_PIECE_BYTES = 1 << 16
"""Bytes of a compressed answer that are read in one turn of the event loop."""


class Places:
    """Lets so many tasks of an event loop work at a time; the others wait for their turn."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free: asyncio.Semaphore

    def here(self) -> AbstractAsyncContextManager[Any]:
        """Return what to enter; a second event loop has places of its own, blocking code any."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return nullcontext()
        if self._loop is not loop:
            self._loop, self._free = loop, asyncio.Semaphore(self._count)
        return self._free


class Blocking(AsyncIterator[bytes]):
    """Adapts a blocking iterator to the asynchronous protocol; it never waits."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = iter(chunks)

    async def __anext__(self) -> bytes:
        for chunk in self._chunks:
            return chunk
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Close the iterator, if it can be closed."""
        close = getattr(self._chunks, "close", None)
        if close is not None:
            close()


def run(work: Awaitable[T]) -> T:
    """Run a coroutine to its end.

    Raises:
        RuntimeError: it waited for something.
    """
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("the blocking flow waited")


async def result_of(value: T | Awaitable[T]) -> T:
    """Return what a call has returned, awaited where its caller waits."""
    result: T = await value if isawaitable(value) else value
    return result


async def close(stream: AsyncIterator[bytes]) -> None:
    """Close a stream of pieces, if it can be closed."""
    if (end := getattr(stream, "aclose", None)) is not None:
        await end()


Pieces = AsyncGenerator[bytes, None] | Blocking
"""Of a response, in code that waits or blocks."""


async def joined(held: list[bytes], pieces: Pieces) -> AsyncGenerator[bytes, None]:
    """Yield the pieces that were read, and those that follow."""
    async with aclosing(pieces):
        while held:
            yield held.pop(0)
        async for piece in pieces:
            yield piece


async def in_turns(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield the pieces in small ones, and let others run after each.

    A compressed answer may hold a thousand times what came over the network, and none of that is
    waited for.
    """
    async with aclosing(pieces):
        async for piece in pieces:
            for at in range(0, len(piece), MAX_PIECE_BYTES):
                yield piece[at : at + MAX_PIECE_BYTES]
                await asyncio.sleep(0)


def drained(pieces: Pieces) -> Generator[bytes, None, None]:
    """Yield in blocking code what never waits, and close it."""
    try:
        while (piece := run(anext(pieces, None))) is not None:
            yield piece
    finally:
        run(pieces.aclose())


class Body(httpx2.AsyncByteStream, httpx2.SyncByteStream):
    """The body of a response as the SDK gets it; closes the response that it is read from."""

    def __init__(self, pieces: Pieces, response: httpx2.Response) -> None:
        self._pieces, self._response = pieces, response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    def __iter__(self) -> Iterator[bytes]:
        return drained(self._pieces)

    async def aclose(self) -> None:
        """Close the pieces, and the response, which nothing closes if no piece was asked for."""
        await self._pieces.aclose()
        await self._response.aclose()

    def close(self) -> None:
        """Do the same in blocking code."""
        run(self._pieces.aclose())
        self._response.close()
