"""The log: one JSON line per request and per event, to standard output, written by a thread.

On a terminal the lines are text for a person:

    12:30:05 search 200 match (hybrid, 2 of 40 tools, 3.1 ms) 5d0c9e1fb7a6c2e4
    12:30:07 WARNING keys_kept reason=…

A request's line has the decision and its duration. The pattern appears as a hash, unless `log =
full`; tool texts never appear.
"""

import os
import select
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from datetime import UTC, datetime
from threading import RLock
from typing import Any

import msgspec

from toolscout.common.threads import FairPool
from toolscout.serving.connections import Events


def write_readable(time: datetime, level: str, event: str, fields: Mapping[str, Any]) -> bytes:
    """Return a line of the log as text."""
    head = [f"{time:%H:%M:%S}", *([] if level == "info" else [level.upper()]), event]
    trace = str(fields.get("exception", "")).splitlines()
    pairs = [f"{key}={value}" for key, value in fields.items() if key != "exception"]
    words = _request(fields) if "outcome" in fields else pairs
    return "\n".join(map(_escape, [" ".join([*head, *words]), *trace])).encode()


def _request(fields: Mapping[str, Any]) -> list[str]:
    """Format outcome and duration of a request and, in a full log, its pattern."""
    details = [fields["ranker"]] if "ranker" in fields else []
    if "offered" in fields:
        details.append(f"{fields.get('selected', 0)} of {fields['offered']} tools")
    details.append(f"{fields['total_ms']:.1f} ms")
    if fields.get("degraded", "no") != "no":
        details.append(f"degraded: {fields['degraded']}")
    names = ", ".join(fields.get("selected_names", ()))
    outcome = f"{fields['outcome']}: {names}" if names else fields["outcome"]
    pattern = [f'"{fields["pattern"]}"'] if "pattern" in fields else []
    parts = [str(fields["status"]), outcome, f"({', '.join(details)})"]
    return [*parts, *pattern, fields["request_id"]]


def _escape(text: str) -> str:
    """Write control characters out, which a terminal would obey."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


_encode = msgspec.json.Encoder(enc_hook=str).encode

MAX_WAITING_BYTES = 8 * 1024 * 1024
"""Maximum bytes of lines that wait for a reader: some 20,000 requests."""

CLOSE_S = 1.0
"""Seconds that the end of the process waits for a reader of its last lines."""


class LineWriter(Events):
    """Writes log lines to a descriptor from a thread, so that no request waits for a reader.

    Lines wait at most a tenth of a second for `flush`. If the reader stops, lines are lost, never
    requests: beyond `MAX_WAITING_BYTES` new lines are dropped and counted, and so are lines that
    cannot be written (a closed pipe).
    """

    def __init__(self, descriptor: int, dropped: Callable[[int], None] = lambda _: None) -> None:
        """Write to a descriptor; `dropped` is called with the number of lost lines."""
        self._descriptor = descriptor
        self._is_terminal = os.isatty(descriptor)
        self._dropped = dropped
        self._thread = FairPool(1, "log")
        self._written: Future[None] = Future()
        """Done when the last lines that were handed to the thread are written."""
        self._changing = RLock()
        self._lines: list[bytes] = []
        self._waiting = 0
        """Bytes that are not written yet."""
        self._lost = 0

    def write(self, level: str, event: str, fields: dict[str, object]) -> None:
        """Queue the line of an event other than a request."""
        self.add(datetime.now(UTC), level, event, fields)

    def add(self, time: datetime, level: str, event: str, fields: Mapping[str, object]) -> None:
        """Queue a line with a time of its own."""
        if self._is_terminal:
            line = write_readable(time, level, event, fields)
        else:
            line = _encode({"time": time, "level": level, "event": event, **fields})
        size = len(line) + 1
        with self._changing:
            if self._waiting + size <= MAX_WAITING_BYTES:
                self._waiting += size
                self._lines.append(line)
            else:
                self._lost += 1
                self._dropped(1)

    def flush(self) -> None:
        """Start writing the queued lines, and say how many were lost once there is room again."""
        with self._changing:
            if self._lost and self._waiting <= MAX_WAITING_BYTES // 2:
                lost = self._lost
                self._lost = 0
                self.warning("log_lines_dropped", lines=lost)
            lines = self._lines
            self._lines = []
        if lines:
            self._written = self._thread.submit("", self._write, lines)

    def close(self, timeout: float = CLOSE_S) -> None:
        """Write the remaining lines, if they are read within `timeout` seconds."""
        self.flush()
        wait([self._written], timeout if self._waiting else 0)

    def _write(self, lines: list[bytes]) -> None:
        rest = memoryview(b"\n".join(lines) + b"\n")
        try:
            while rest:
                try:
                    rest = rest[os.write(self._descriptor, rest) :]
                except BlockingIOError:  # another process made the pipe non-blocking
                    select.select([], [self._descriptor], [])
        except (OSError, ValueError):  # there is no reader any more
            self._dropped(len(lines))
        with self._changing:
            self._waiting -= sum(map(len, lines)) + len(lines)
