"""Server-sent events: cutting a stream of bytes into events, and writing events."""

import re
from typing import Any

import msgspec

from toolscout.discovery import wire

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
LONGEST_END = 4
"""Bytes of the longest end of an event."""


DONE = "[DONE]"
"""The last event of OpenAI's chat completions, which is no JSON."""


class Event(msgspec.Struct, frozen=True):
    """One event: its bytes as they came, and its data where that is a JSON object."""

    raw: bytes
    data: dict[str, Any] | None = None
    kind: str = ""
    """`type` or, of Bedrock, `:event-type`; empty for an exception and for bytes that are none."""
    headers: bytes = b""
    """Of Bedrock."""


class Splitter:
    """Takes bytes in any pieces, gives whole events."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that are complete now."""
        searched = max(len(self._rest) - LONGEST_END + 1, 0)
        self._rest += chunk
        events = []
        start = 0
        for end in [found.end() for found in _END.finditer(self._rest, searched)]:
            raw = bytes(self._rest[start:end])
            if raw.strip():
                events.append(_read(raw))
            start = end
        del self._rest[:start]
        return events

    def end(self) -> bytes:
        """Return what no event has ended yet."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest


def write(data: dict[str, Any], name: str | None = None) -> bytes:
    """Return an event as bytes."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + wire.encode(data) + b"\n\n"


def _read(raw: bytes) -> Event:
    lines = [line[5:].strip() for line in raw.splitlines() if line.startswith(b"data:")]
    body = b"\n".join(lines)
    if body == DONE.encode():
        return Event(raw, kind=DONE)
    try:
        data = wire.decode(body)
    except wire.UNREADABLE:
        return Event(raw)
    return Event(raw, data, str(data.get("type"))) if isinstance(data, dict) else Event(raw)
