"""Run coroutines that never wait, in the caller's thread and without an event loop."""

from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import TypeVar

T = TypeVar("T")


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


async def close(stream: AsyncIterator[bytes]) -> None:
    """Close a stream of pieces, if it can be closed."""
    if (end := getattr(stream, "aclose", None)) is not None:
        await end()
