"""Gemini's stream without `alt=sse`: one JSON array, each element of which is a response."""

import re

from toolscout.client import wire
from toolscout.client.providers import sse
from toolscout.client.providers.gemini.stream import GeminiStream
from toolscout.client.providers.provider import Json

_MARK = re.compile(rb'\\.|["\[\]{}]', re.DOTALL)


class Elements:
    """Takes bytes of an array in any pieces, gives its whole elements."""

    def __init__(self) -> None:
        self.has_ended = False
        self._rest = bytearray()
        self._read = 0
        """Bytes of the rest that were looked at."""
        self._depth = 0
        self._in_text = False
        self._start = 0
        """Where the element begins that is being read."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The elements that are complete now."""
        self._rest += chunk
        found = []
        for mark in _MARK.finditer(self._rest, self._read):
            self._read = mark.end()
            sign = mark[0]
            if sign == b'"':
                self._in_text = not self._in_text
            elif self._in_text or sign[:1] == b"\\":
                continue
            elif sign in b"[{":
                self._depth += 1
                if self._depth == 2:
                    self._start = mark.start()
            else:
                self._depth -= 1
                if self._depth == 1:
                    found.append(bytes(self._rest[self._start : mark.end()]))
                self.has_ended = self.has_ended or self._depth == 0
        # A backslash at the very end escapes what comes with the next piece.
        is_cut = self._rest.endswith(b"\\") and self._read < len(self._rest)
        self._read = len(self._rest) - is_cut
        kept = self._start if self._depth > 1 else self._read
        del self._rest[:kept]
        self._read -= kept
        self._start = 0
        return found

    def end(self) -> bytes:
        """Return the element that has begun."""
        return bytes(self._rest) if self._depth > 1 else b""


class GeminiArrayOrEvents:
    """Reads either form, and writes the one that it reads."""

    def __init__(self, search_name: str, dispatch_name: str = "") -> None:
        self._events = GeminiStream(search_name, dispatch_name)
        self._elements: Elements | None = None
        self._is_known = False
        self._count = 0
        """Elements that went to the client."""
        self.wrote = False

    def feed(self, chunk: bytes) -> bytes:
        """See `Stream.feed`."""
        if not self._is_known and (start := chunk.lstrip()):
            self._is_known = True
            self._elements = Elements() if start.startswith(b"[") else None
        if self._elements is None:
            out = self._events.feed(chunk)
        else:
            out = b"".join(map(self._handle, self._elements.feed(chunk)))
        self.wrote = self.wrote or bool(out)
        return out

    def response(self) -> Json:
        """See `Stream.response`."""
        return self._events.response()

    def next_turn(self) -> None:
        """See `Stream.next_turn`."""
        self._events.next_turn()
        self.wrote = False
        self._elements = None if self._elements is None else Elements()

    def finish(self) -> bytes:
        """Return the end of the turn; an array that broke off stays open."""
        out = self._events.finish()
        if self._elements is None:
            return out
        out = self._as_elements(out)
        if not self._elements.has_ended:
            return out
        return out + (b"\n]\n" if self._count else b"[]\n")

    def rest(self) -> bytes:
        """See `Stream.rest`; an element of the array that has begun."""
        if self._elements is None:
            return self._events.rest()
        begun = self._elements.end()
        return self._separated(begun) if begun else b""

    def fail(self, status: int, error: Json) -> bytes:
        """Return the error as the last element or event."""
        out = self._events.fail(status, error)
        return out if self._elements is None else self._as_elements(out) + b"\n]\n"

    def _handle(self, element: bytes) -> bytes:
        try:
            data = wire.decode(element)
        except wire.UNREADABLE:
            data = None
        if not isinstance(data, dict):
            return self._separated(element)
        return self._as_elements(self._events.feed(sse.write(data)))

    def _as_elements(self, events: bytes) -> bytes:
        found = sse.Splitter().feed(events)
        return b"".join(self._separated(wire.encode(event.data)) for event in found)

    def _separated(self, element: bytes) -> bytes:
        self._count += 1
        return (b"[" if self._count == 1 else b",\n") + element
