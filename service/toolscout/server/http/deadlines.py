"""Time limits of waiting, looked at together: a timer for each costs more than most waits take."""

import asyncio
from collections.abc import Awaitable
from time import perf_counter
from typing import Any, TypeVar

T = TypeVar("T")


class Deadlines:
    """Ends waits that take too long."""

    def __init__(self) -> None:
        self._due: dict[asyncio.Task[Any], float] = {}

    async def keep(self, waiting: Awaitable[T], seconds: float) -> T:
        """Await something for so many seconds, and at most until the next look after them.

        Raises:
            TimeoutError: it took longer.
        """
        task = asyncio.current_task()
        assert task is not None
        self._due[task] = perf_counter() + seconds
        try:
            return await waiting
        except asyncio.CancelledError:
            if task in self._due or task.uncancel():
                raise  # by others
            raise TimeoutError from None
        finally:
            self._due.pop(task, None)

    def look(self) -> None:
        """End the waits that are overdue; to be called several times a second."""
        now = perf_counter()
        for task in [task for task, due in self._due.items() if due <= now]:
            del self._due[task]
            task.cancel()
