"""Files that are read again and again while the service runs: keys and certificates."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

READ_EVERY_S = 1.0


class FollowedFiles(Generic[T]):
    """Hands over what files hold whenever it differs from what is in use."""

    def __init__(self, read: Callable[[], T], use: Callable[[T], None], seen: T) -> None:
        """Follow files that `read` reads, in a thread; `seen` is what is in use already."""
        self._read = read
        self._use = use
        self._seen = seen

    async def follow(self) -> None:
        """Read the files once a second, until cancelled."""
        while True:
            self._take(await asyncio.to_thread(self._read))
            await asyncio.sleep(READ_EVERY_S)

    def check(self) -> None:
        """Read the files now."""
        self._take(self._read())

    def _take(self, held: T) -> None:
        if held != self._seen:
            self._seen = held
            self._use(held)
