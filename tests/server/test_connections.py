"""What all connections of a process share: their deadlines, and room for further ones."""

import logging
from collections import Counter
from typing import Any

import pytest

from toolscout.serving.connections import CLOSED_AT_ONCE, LoggedEvents, ServedConnections
from toolscout.settings import Settings


class Frail:
    """A connection whose waits cannot be ended."""

    def __init__(self) -> None:
        self.tried = 0

    def end_wait(self, wait: str) -> None:
        self.tried += 1
        raise AttributeError(wait)


def test_what_fails_at_its_deadline_stops_no_other(caplog: pytest.LogCaptureFixture):
    log = LoggedEvents(logging.getLogger("waits"))
    connections = ServedConnections(Settings(), lambda *_: b"", log)
    frail = [Frail() for _ in range(3)]
    for each in frail:
        connections.watch(each, "body", -1)
    connections.expire()
    assert [each.tried for each in frail] == [1, 1, 1]
    (line,) = caplog.messages
    assert "AttributeError: body" in line


class Idle:
    """A connection, closed in its own name."""

    def __init__(self, since: float | None, closed: list[Any]) -> None:
        self.idle_since = since
        self.transport = self
        self._closed = closed

    def close(self) -> None:
        self._closed.append(self.idle_since)


def test_the_oldest_idle_connections_are_closed_first(caplog: pytest.LogCaptureFixture):
    counted: Counter[str] = Counter()
    log = LoggedEvents(logging.getLogger("descriptors"))
    connections = ServedConnections(
        Settings(), lambda *_: b"", log, lambda why: counted.update([why])
    )
    closed: list[Any] = []
    times = [*range(CLOSED_AT_ONCE + 1, 0, -1), None]
    assert connections.make_room([Idle(since, closed) for since in times]) == CLOSED_AT_ONCE
    assert closed == [*range(1, CLOSED_AT_ONCE + 1)]
    assert connections.make_room([Idle(None, closed)]) == 0
    connections.expire()
    assert caplog.messages == [f"descriptors_exhausted times=2 closed={CLOSED_AT_ONCE}"]
    assert counted == {"descriptors": CLOSED_AT_ONCE}
