"""Files that are read again and again while the service runs: keys and certificates."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

READ_EVERY_S = 1.0

READS = 3
"""Reads in a row that have to agree, two seconds: who writes in place may pause in the middle."""


class FollowedFiles(Generic[T]):
    """Hands over what files hold whenever it differs from what is in use, and is written whole."""

    def __init__(self, read: Callable[[], T], use: Callable[[T], None], seen: T) -> None:
        """Follow files that `read` reads, in a thread; `seen` is what is in use already."""
        self._read = read
        self._use = use
        self._seen = self._latest = seen
        self._agreed = 0

    async def follow(self) -> None:
        """Read the files once a second, until cancelled."""
        while True:
            self.take(await asyncio.to_thread(self._read))
            await asyncio.sleep(READ_EVERY_S)

    def look(self, is_written: bool) -> None:
        """Read the files once; use what they hold if somebody says that they are written."""
        if is_written:
            self.check()
        else:
            self.take(self._read())

    def check(self) -> None:
        """Read the files now, and use what they hold: somebody says that they are written."""
        self._settle(self._read())

    def take(self, held: T) -> None:
        """Take one read, and use what it and the ones before it agree about."""
        self._agreed = self._agreed + 1 if held == self._latest else 1
        self._latest = held
        if self._agreed >= READS:
            self._settle(held)

    def _settle(self, held: T) -> None:
        if held != self._seen:
            self._seen = held
            self._use(held)
