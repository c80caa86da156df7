"""The log: one JSON line per request and per event, to standard output, written in batches.

A request's line says what was decided and how long it took. The pattern appears as a hash,
unless `log = full`; tool texts never appear.
"""

import contextlib
import logging
from datetime import datetime
from hashlib import sha256
from typing import Any, BinaryIO

import msgspec
import structlog

_encode = msgspec.json.Encoder(enc_hook=str).encode


class RequestLine(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The one line of a request. Milliseconds count from the arrival of the headers."""

    time: datetime
    level: str
    event: str
    request_id: str
    trace_id: str = ""
    tenant: str = ""
    status: int
    outcome: str
    ranker: str = ""
    degraded: str = ""
    cache: str = ""
    catalog: str = ""
    pattern_hash: str = ""
    pattern: str = ""
    top_k: int = 0
    offered: int = 0
    unique: int = 0
    selected: int = 0
    selected_names: list[str] = []
    bytes_in: int = 0
    total_ms: float
    phases_ms: dict[str, float] = {}


class LineWriter:
    """Writes log lines to a stream in batches, so that no request waits for a system call.

    Lines wait a tenth of a second at most; `flush` writes at once. Lines that cannot be written
    (a closed pipe) are dropped: a log must never fail a request.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines: list[bytes] = []

    def msg(self, line: bytes) -> None:
        """Take one line without its line end."""
        self._lines.append(line)

    debug = info = warning = error = critical = exception = msg

    def write(self, line: RequestLine) -> None:
        """Take a request's line."""
        self._lines.append(_encode(line))

    def flush(self) -> None:
        """Write what has been taken."""
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(b"\n".join(lines) + b"\n")
            self._stream.flush()


def configure(writer: LineWriter) -> structlog.typing.FilteringBoundLogger:
    """A logger to a writer: time stamp, level, event, fields."""
    logger: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
        writer,
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", key="time"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_serialise),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )
    return logger


def hashed(pattern: str) -> str:
    """A pattern as it may be logged: equal patterns are recognised, none can be read."""
    return sha256(pattern.encode("utf-8", "replace")).hexdigest()[:16]


def _serialise(event: dict[str, Any], **_: Any) -> bytes:
    return _encode(event)
