"""Bodies of responses as they come, in code that waits and in code that blocks.

The flow is written once, as coroutines. Those of blocking code never wait, so `run` ends them
without an event loop.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import ExitStack, aclosing, asynccontextmanager
from inspect import isawaitable
from time import monotonic
from typing import TypeVar

import httpx2

T = TypeVar("T")

MAX_PIECE_BYTES = 1 << 16
"""Bytes of a compressed answer that are read in one turn of the event loop."""

HELD_S = 0.1
"""Seconds for which a search holds its place. After that it waits for the service, so that another
may begin."""

HELD_BY_THREAD_S = 0.5
"""The same of a thread: threads take turns at the interpreter, so their own work takes longer."""


class Places:
    """Limits how many searches begin at the same time.

    A search holds a place while the caller's own work goes on. Time spent on waiting for a slow
    service holds up no other search.
    """

    def __init__(self, count: int, *, waits: bool) -> None:
        """Allow `count` places for each event loop, or for all threads together."""
        self._count = count
        self._waits = waits
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free: asyncio.Semaphore
        self._begun: dict[object, float] = {}
        self._changed = threading.Condition()

    @asynccontextmanager
    async def here(self) -> AsyncIterator[None]:
        """Hold a place; wait until one is free."""
        give_back = await self._wait() if self._waits else self._block()
        try:
            if self._waits:  # what else is ready goes first: it would take of the search's time
                await asyncio.sleep(0)
            yield
        finally:
            give_back()

    async def _wait(self) -> Callable[[], None]:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop = loop
            self._free = asyncio.Semaphore(self._count)
        await self._free.acquire()
        place = ExitStack()  # its first close gives the place back, later ones do nothing
        place.callback(self._free.release)
        loop.call_later(HELD_S, place.close)
        return place.close

    def _block(self) -> Callable[[], None]:
        place = object()
        with self._changed:
            while not self._has_room():
                self._changed.wait(HELD_BY_THREAD_S)
            self._begun[place] = monotonic()

        def give_back() -> None:
            with self._changed:
                del self._begun[place]
                self._changed.notify()

        return give_back

    def _has_room(self) -> bool:
        now = monotonic()
        return sum(now - begun < HELD_BY_THREAD_S for begun in self._begun.values()) < self._count


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


async def await_result(value: T | Awaitable[T]) -> T:
    """Return what a call has returned, awaited where its caller waits."""
    result: T = await value if isawaitable(value) else value
    return result


async def close(stream: AsyncIterator[bytes]) -> None:
    """Close a stream of pieces, if it can be closed."""
    if (end := getattr(stream, "aclose", None)) is not None:
        await end()


Pieces = AsyncGenerator[bytes, None] | Blocking
"""Of a response, in code that waits or blocks."""


async def join(held: list[bytes], pieces: Pieces) -> AsyncGenerator[bytes, None]:
    """Yield the pieces that were read, and those that follow."""
    async with aclosing(pieces):
        while held:
            yield held.pop(0)
        async for piece in pieces:
            yield piece


async def yield_in_turns(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield the pieces in small ones, and let others run after each.

    A compressed answer may hold a thousand times what came over the network, and none of that is
    waited for.
    """
    async with aclosing(pieces):
        async for piece in pieces:
            for at in range(0, len(piece), MAX_PIECE_BYTES):
                yield piece[at : at + MAX_PIECE_BYTES]
                await asyncio.sleep(0)


def drain(pieces: Pieces) -> Generator[bytes, None, None]:
    """Yield in blocking code what never waits, and close it."""
    try:
        while (piece := run(anext(pieces, None))) is not None:
            yield piece
    finally:
        run(pieces.aclose())


class Body(httpx2.AsyncByteStream, httpx2.SyncByteStream):
    """The body of a response as the SDK gets it; closes the response that it is read from."""

    def __init__(self, pieces: Pieces, response: httpx2.Response) -> None:
        self._pieces = pieces
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    def __iter__(self) -> Iterator[bytes]:
        return drain(self._pieces)

    async def aclose(self) -> None:
        """Close the pieces, and the response, which nothing closes if no piece was asked for."""
        await self._pieces.aclose()
        await self._response.aclose()

    def close(self) -> None:
        """Do the same in blocking code."""
        run(self._pieces.aclose())
        self._response.close()
