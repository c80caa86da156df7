"""Write events as JSON lines, one object each, in a separate thread.

    lines = JsonLines("events.jsonl")
    discovery = ToolDiscovery(url, observers=[log_event, lines], turn_observers=[log_turn, lines])

A call only puts its event into a queue. Events that do not fit into the queue or cannot be written
are dropped and counted; no failure reaches the caller.
"""

import logging
import os
import threading
import weakref
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import Full, Queue
from types import TracebackType
from typing import IO, Any, Self

import msgspec

from toolscout.errors import InvalidArgument, check_count

MAX_WAITING = 1_000
"""Maximum number of events that wait to be written; more are dropped."""

MAX_LINE_BYTES = 64 * 1024
"""Longer events are dropped."""

MAX_FILE_BYTES = 100 * 1024 * 1024
"""A file that would grow beyond this is renamed to `NAME.1`, in place of an older one."""

CLOSE_S = 1.0
"""Seconds that closing waits for queued events."""

logger = logging.getLogger("toolscout.client")


class JsonLines:
    """An observer of searches and of turns that appends their events to a file or a stream.

    Each line has `event` (the type's name), `at` (UTC, ISO 8601) and the event's own fields.

    Args:
        target: a path, or an open text or binary stream, which is not closed here.
        max_file_bytes: size at which a file is renamed to `NAME.1`; a stream has no limit.
        max_waiting: events in the queue at most.

    Raises:
        InvalidArgument: an argument has the wrong type or is out of bounds.
    """

    def __init__(
        self,
        target: str | Path | IO[Any],
        *,
        max_file_bytes: int = MAX_FILE_BYTES,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        if not isinstance(target, str | Path) and not callable(getattr(target, "write", None)):
            raise InvalidArgument.of("target", "a path or a stream", target)
        check_count("max_file_bytes", max_file_bytes, 1)
        check_count("max_waiting", max_waiting, 1)
        self.dropped = 0
        """Events that did not fit into the queue or a line."""
        self._sink = _Sink(target, max_file_bytes)
        self._max_waiting = max_waiting
        self._lock = threading.Lock()
        self._writer: _Writer | None = None

    def __call__(self, event: msgspec.Struct) -> None:
        """Queue one event."""
        with suppress(Full, ValueError, TypeError, msgspec.MsgspecError):
            line = _line(event)
            if len(line) <= MAX_LINE_BYTES:
                self._running().queue.put_nowait(line)
                return
        with self._lock:
            self.dropped += 1

    def close(self) -> None:
        """Write the queued events, for at most a second; a later event starts a new thread."""
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            writer.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _running(self) -> "_Writer":
        with self._lock:
            if self._writer is None or self._writer.pid != os.getpid():  # a fork has no threads
                self._writer = _Writer(self._sink, self._max_waiting)
                # At the end of the process too, so that the last lines are not lost.
                weakref.finalize(self, self._writer.stop)
            return self._writer


class _Writer:
    """A queue of lines, and the daemon thread that writes them."""

    def __init__(self, sink: "_Sink", max_waiting: int) -> None:
        self.pid = os.getpid()
        self.queue: Queue[bytes | None] = Queue(max_waiting)
        self._sink = sink
        self._thread = threading.Thread(target=self._run, name="toolscout-jsonl", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread once everything is written, or abandon it when that takes too long."""
        if self.pid != os.getpid() or not self._thread.is_alive():
            return
        with suppress(Full):
            self.queue.put(None, timeout=CLOSE_S)
        self._thread.join(CLOSE_S)

    def _run(self) -> None:
        while (line := self.queue.get()) is not None:
            self._sink.write(line)
        self._sink.close()


class _Sink:
    """The file or stream of the lines; used by the writer's thread only."""

    def __init__(self, target: str | Path | IO[Any], max_file_bytes: int) -> None:
        self._path = Path(target) if isinstance(target, str | Path) else None
        self._stream: IO[Any] | None = None if isinstance(target, str | Path) else target
        self._max_bytes = max_file_bytes
        self._failing = False

    def write(self, line: bytes) -> None:
        try:
            stream = self._opened(len(line))
            try:
                stream.write(line)
            except TypeError:
                stream.write(line.decode())
            stream.flush()
            self._failing = False
        except Exception as error:
            if not self._failing:  # logged once, not for every event of an outage
                logger.warning("events cannot be written (%s)", type(error).__name__)
            self._failing = True
            self.close()

    def close(self) -> None:
        if self._path is not None and self._stream is not None:
            with suppress(OSError):
                self._stream.close()
            self._stream = None

    def _opened(self, size: int) -> IO[Any]:
        if self._path is None:
            assert self._stream is not None
            return self._stream
        if self._stream is not None and self._stream.tell() + size > self._max_bytes:
            self.close()
        if self._stream is None:
            if self._path.exists() and self._path.stat().st_size + size > self._max_bytes:
                self._path.replace(self._path.with_name(self._path.name + ".1"))
            self._stream = self._path.open("ab")
        return self._stream


def _line(event: msgspec.Struct) -> bytes:
    fields = {
        "event": type(event).__name__,
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        **msgspec.structs.asdict(event),
    }
    return msgspec.json.encode(fields) + b"\n"
