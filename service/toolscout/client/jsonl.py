"""Write events as JSON lines, one object each, by the thread of logging's `QueueListener`.

    lines = JsonLines("events.jsonl")
    discovery = ToolDiscovery(url, observers=[log_event, lines], turn_observers=[log_turn, lines])

A call only puts its event into a queue. Events that do not fit into the queue or a line are
dropped and counted; events that cannot be written are lost after one warning; no failure reaches
the caller.
"""

import logging
import os
import sys
import threading
import weakref
from contextlib import suppress
from datetime import UTC, datetime
from logging.handlers import QueueListener, RotatingFileHandler
from pathlib import Path
from queue import Full, Queue
from typing import IO, Any, Self

import msgspec

from toolscout.client.log import logger
from toolscout.errors import InvalidArgument, check_count

MAX_WAITING = 1_000
"""Maximum number of events that wait to be written; more are dropped."""

MAX_LINE_CHARS = 64 * 1024
"""Longer events are dropped."""

MAX_FILE_BYTES = 100 * 1024 * 1024
"""A file that would grow beyond this is renamed to `NAME.1` and replaces an older one."""

CLOSE_S = 1.0
"""Seconds that closing waits for queued events."""


class JsonLines:
    """An observer of searches and of turns that appends their events to a file or a stream.

    Each line has `event` (the type's name), `at` (UTC, ISO 8601) and the event's own fields.

    Args:
        target: a path, or an open text stream, which is not closed here.
        max_file_bytes: size at which a file is renamed to `NAME.1`; a stream has no limit.
        max_waiting: events in the queue at most.

    Raises:
        InvalidArgument: an argument has the wrong type or is out of bounds.
    """

    def __init__(
        self,
        target: str | Path | IO[str],
        *,
        max_file_bytes: int = MAX_FILE_BYTES,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        if not isinstance(target, str | Path) and not callable(getattr(target, "write", None)):
            raise InvalidArgument.of("target", "a path or a text stream", target)
        check_count("max_file_bytes", max_file_bytes, 1)
        check_count("max_waiting", max_waiting, 1)
        self.dropped = 0
        """Events that did not fit into the queue or a line."""
        self._handler = (
            _RotatingFile(target, "a", max_file_bytes, backupCount=1, encoding="utf-8", delay=True)
            if isinstance(target, str | Path)
            else _TextStream(target)
        )
        self._max_waiting = max_waiting
        self._lock = threading.Lock()
        self._queue: Queue[str | None] = Queue()
        self._stop: weakref.finalize[..., JsonLines] | None = None
        self._pid = 0

    def __call__(self, event: msgspec.Struct) -> None:
        """Queue one event."""
        with suppress(Full, ValueError, TypeError, msgspec.MsgspecError):
            line = _write_line(event)
            if len(line) <= MAX_LINE_CHARS:
                self._start()
                self._queue.put_nowait(line)
                return
        with self._lock:
            self.dropped += 1

    def close(self) -> None:
        """Write the queued events, for at most a second; a later event starts a new thread."""
        with self._lock:
            stop = self._stop
            self._stop = None
        if stop is not None:
            stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        with self._lock:
            if self._pid != os.getpid():  # a fork has no threads; its parent writes what it queued
                self._queue = Queue(self._max_waiting)
                self._stop = None
                self._pid = os.getpid()
            if self._stop is None:
                _Listener(self._queue, self._handler).start()
                # At the end of the process too, so that the last lines are not lost.
                self._stop = weakref.finalize(self, _stop, self._queue, self._handler, self._pid)


class _WarnOnce(logging.Handler):
    """A handler that logs its first failure; a broken disk would log each event."""

    failed = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's name)
        self.warn(sys.exception())

    def warn(self, error: BaseException | None) -> None:
        """Log a failure, if it is the first."""
        if not self.failed:
            self.failed = True
            logger.warning("events cannot be written (%s)", type(error).__name__)


class _RotatingFile(_WarnOnce, RotatingFileHandler):
    pass


class _TextStream(_WarnOnce, logging.StreamHandler[IO[str]]):
    pass


class _Listener(QueueListener):
    def prepare(self, record: Any) -> logging.LogRecord:  # a line: records are made in the thread
        return logging.makeLogRecord({"msg": record})


def _stop(queue: Queue[str | None], handler: _WarnOnce, pid: int) -> None:
    """Let the thread write what is queued, and end; `QueueListener.stop` would wait for ever."""
    if pid != os.getpid():
        return
    with suppress(Full):
        queue.put(None, timeout=CLOSE_S)
    with queue.all_tasks_done:
        is_written = queue.all_tasks_done.wait_for(lambda: not queue.unfinished_tasks, CLOSE_S)
    if is_written:  # else the thread has the handler's lock
        try:
            handler.close()
        except (OSError, ValueError) as error:  # what was not written yet
            handler.warn(error)


def _write_line(event: msgspec.Struct) -> str:
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    fields = {"event": type(event).__name__, "at": at, **msgspec.structs.asdict(event)}
    return msgspec.json.encode(fields).decode()
