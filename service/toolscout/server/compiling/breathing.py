"""Breathing: how work in threads gives way to the event loop.

All threads share one interpreter lock, and a thread that computes gives it up only when asked,
after a while. So long work is cut into small pieces, and between two of them it looks whether a
request is being answered: if so it sleeps for a moment, and the loop need not even ask.
"""

import time
from collections.abc import Callable
from enum import Enum

SLICE_S = 0.0003
"""How long work goes on while there is nothing else to do."""

SHORT_S = 0.0001
"""How long it goes on while a request is being answered."""

PAUSE_S = 0.00005
"""The pause: just long enough for a waiting thread to wake and take the lock."""

COMPILE_PAUSES = 3
"""Pauses in a row while a request is being answered: the compile goes on, at a quarter of its
speed, however many requests come. Reading and scanning pause once: somebody waits for them."""

YIELD_S = 0.0003
MAX_YIELDS = 500
"""How a compile waits for a scan, which has a deadline and a compile has not: 0.15 s at most, and
short naps, since a list is compiled as soon as it has been read."""


class Urgency(Enum):
    """What else this process has to do, from the point of view of a compile."""

    NONE = 0
    WARM = 1
    """Known catalogs were answered a moment ago."""
    ANSWER = 2
    """A request is being answered right now."""
    SCAN = 3
    """Unknown tools are being read or scanned against a deadline."""


class CompileBreath:
    """Called after every small piece of a compile."""

    def __init__(self, urgency: Callable[[], Urgency]) -> None:
        self._urgency = urgency
        self._since = time.perf_counter()

    def __call__(self) -> None:
        """Pause as long as others need the lock, if it is time to."""
        urgency = self._urgency()
        allowed = SLICE_S if urgency in (Urgency.NONE, Urgency.WARM) else SHORT_S
        if time.perf_counter() - self._since < allowed:
            return
        for _ in range(MAX_YIELDS):
            if urgency is not Urgency.SCAN:
                break
            time.sleep(YIELD_S)
            urgency = self._urgency()
        for _ in range(COMPILE_PAUSES):
            if urgency is Urgency.NONE:
                break
            time.sleep(PAUSE_S)
            urgency = self._urgency()
            if urgency is not Urgency.ANSWER:
                break
        self._since = time.perf_counter()


class ReadBreath:
    """Called after every small piece of reading or scanning unknown tools."""

    def __init__(self, answering: Callable[[], bool]) -> None:
        self._answering = answering
        self._since = time.perf_counter()

    def __call__(self) -> None:
        """Pause once if another request is being answered."""
        if not self._answering() or time.perf_counter() - self._since < SHORT_S:
            return
        time.sleep(PAUSE_S)
        self._since = time.perf_counter()
