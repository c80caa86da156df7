"""Long work on the event loop in slices, between which requests get their turn."""

import asyncio
from time import perf_counter

SLICE_S = 0.005
"""Seconds of work after which the event loop gets a turn; one long pattern takes as long."""


class Slices:
    """Gives the event loop a turn after every slice of work."""

    def __init__(self) -> None:
        self._began = perf_counter()

    async def pause(self) -> None:
        """Pause if a slice is over."""
        if perf_counter() - self._began > SLICE_S:
            await asyncio.sleep(0)
            self._began = perf_counter()
