"""Time limits of waits, checked together, because a timer for each costs more than most waits."""

import asyncio
from collections.abc import Awaitable
from time import perf_counter
from typing import Any, TypeVar

T = TypeVar("T")


class Deadlines:
    """Ends overdue waits."""

    def __init__(self) -> None:
        self._due: dict[asyncio.Task[Any], float] = {}

    async def keep(self, waiting: Awaitable[T], seconds: float) -> T:
        """Await something for a number of seconds, or until the next check after them.

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
        """End the waits that are overdue; called several times a second."""
        now = perf_counter()
        for task in [task for task, due in self._due.items() if due <= now]:
            del self._due[task]
            task.cancel()
