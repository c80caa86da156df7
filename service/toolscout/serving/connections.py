"""Limits and deadlines over all connections of one process."""

import asyncio
import logging
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from operator import itemgetter
from time import monotonic
from typing import Any, Protocol

from toolscout.settings import Settings


class Events(ABC):
    """A log of named events with fields."""

    @abstractmethod
    def write(self, level: str, event: str, fields: dict[str, object]) -> None:
        """Log an event at a level: `info`, `warning` or `error`."""

    def info(self, event: str, **fields: object) -> None:
        """Log something that was done."""
        self.write("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Log something that an operator may want to change."""
        self.write("warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Log a failure."""
        self.write("error", event, fields)

    def exception(self, event: str, **fields: object) -> None:
        """Log the exception that is being handled, with its traceback."""
        self.error(event, **fields, exception=traceback.format_exc())


class LoggedEvents(Events):
    """Events as lines of a logger."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def write(self, level: str, event: str, fields: dict[str, object]) -> None:
        """Log a line."""
        shown = " ".join(f"{name}={value}" for name, value in fields.items())
        getattr(self._logger, level)("%s %s", event, shown)


class Steps:
    """Does what is done again and again: where one step fails, the others go on."""

    def __init__(self, log: Events) -> None:
        self._log = log
        self._failed: set[str] = set()
        """Steps whose failure is in the log: none may fill it."""

    def run(self, step: Callable[..., object], *args: object) -> None:
        """Do a step; log the first time that it fails."""
        try:
            step(*args)
        except Exception:
            if step.__qualname__ not in self._failed:
                self._failed.add(step.__qualname__)
                self._log.exception("step_failed", step=step.__qualname__)


async def cancel_until_done(task: asyncio.Task[None]) -> None:
    """Cancel a task until it ends, for a library may lose a cancellation while it closes."""
    while not task.done():
        task.cancel()
        await asyncio.wait((task,), timeout=0.5)


Refusal = Callable[[str, str, bytes], bytes]
"""Writes the answer to what is refused before there is a request, as it goes over the wire: from
`bad_request`, `body_timeout` or `headers_too_large`, a sentence, and the path."""

LATE = "is_body_late"
"""Set in the `state` of a request whose body took too long: the application refuses it."""

REPORT_EVERY_S = 10.0
"""Refused connections are logged together this often, so that a flood cannot fill the log."""


CLOSED_AT_ONCE = 16
"""Idle connections that are closed together where the process has run out of descriptors."""


class Watched(Protocol):
    """A connection that has deadlines."""

    def end_wait(self, wait: str) -> None:
        """End an overdue wait."""


class ServedConnections:
    """Deadlines of slow connections, and counts of those that are refused."""

    def __init__(  # the parts that it joins
        self,
        settings: Settings,
        refusal: Refusal,
        log: Events,
        count: Callable[[str], object] = lambda _: None,
        is_service: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.settings = settings
        """The limits."""
        self.refusal = refusal
        self.log = log
        """Gets the refusals, now and then."""
        self.count = count
        """Gets the reason of every refusal."""
        self.is_service = is_service
        """Whether the application is told that a body is late, and a caller may wait for its answer
        after it has closed its sending half. The proxy and the gateway find out by themselves, and
        such a caller, who would wait for a model, counts as gone."""
        self.clock = clock
        self.answering: Collection[object] = ()
        """Every request that is being answered, also one whose task has not begun yet."""
        self._due: dict[tuple[Watched, str], float] = {}
        self._refused = Counter[str]()
        self._exhausted = Counter[str]()
        self._steps = Steps(self.log)
        self._reported = self.clock() - REPORT_EVERY_S

    def leave(self, connection: Watched) -> None:
        """Forget a connection that ended."""
        for key in [key for key in self._due if key[0] is connection]:
            del self._due[key]

    def watch(self, connection: Watched, wait: str, seconds: float) -> None:
        """Set a deadline for one wait of a connection, unless it has one."""
        self._due.setdefault((connection, wait), self.clock() + seconds)

    def unwatch(self, connection: Watched, wait: str) -> None:
        """Remove a deadline."""
        self._due.pop((connection, wait), None)

    def refused(self, reason: str) -> None:
        """Count a connection that is closed because of what it sent or did not read."""
        self.count(reason)
        self._refused[reason] += 1

    def expire(self) -> None:
        """End overdue waits and log refusals; called several times a second."""
        now = self.clock()
        for key in [key for key, due in self._due.items() if due <= now]:
            del self._due[key]
            self._steps.run(key[0].end_wait, key[1])
        if now - self._reported >= REPORT_EVERY_S:
            self._steps.run(self.report)

    def make_room(self, connections: Iterable[Any]) -> int:
        """Close those that have been idle for the longest time, for want of descriptors.

        Args:
            connections: all that are open, with `idle_since` and `transport`.

        Returns:
            how many were closed.
        """
        idle = [(since, one) for one in connections if (since := one.idle_since) is not None]
        oldest = sorted(idle, key=itemgetter(0))[:CLOSED_AT_ONCE]
        for _, connection in oldest:
            self.count("descriptors")
            connection.transport.close()
        self._exhausted += Counter(times=1, closed=len(oldest))
        return len(oldest)

    def report(self) -> None:
        """Log how many connections were refused since the last report, if any were, and why."""
        counted = {"descriptors_exhausted": self._exhausted, "connections_refused": self._refused}
        for event, counts in counted.items():
            if counts:
                self.log.warning(event, **counts)
                counts.clear()
                self._reported = self.clock()
