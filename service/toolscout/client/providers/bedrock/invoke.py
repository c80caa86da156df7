"""The stream of Bedrock's `InvokeModel`: Anthropic's events, each within a frame of its own."""

from base64 import b64decode, b64encode
from typing import Any

from toolscout.client import wire
from toolscout.client.providers import sse
from toolscout.client.providers.anthropic.stream import AnthropicStream
from toolscout.client.providers.bedrock import framing
from toolscout.client.providers.provider import Json

_BROKEN_OFF = sse.write({"type": "error"})


class AnthropicOnBedrockStream:
    """Takes the events out of their frames, and has them read like Anthropic's own.

    An event that is passed on unchanged keeps its frame, byte for byte.
    """

    def __init__(self, search_name: str, dispatch_name: str = "") -> None:
        self._events = AnthropicStream(search_name, dispatch_name)
        self._headers = b""
        self.wrote = False
        self._splitter = framing.Splitter()
        self._frames: dict[bytes, bytes] = {}
        """The frame of each event of this turn."""

    def feed(self, chunk: bytes) -> bytes:
        """See `Stream.feed`."""
        out = wire.handled(self._splitter.feed(chunk), self._handle)
        self.wrote = self.wrote or bool(out)
        return out

    def response(self) -> Json:
        """The message with all its blocks."""
        return self._events.response()

    def next_turn(self) -> None:
        """Reset, except for what Anthropic's stream keeps."""
        self._events.next_turn()
        self.wrote = False
        self._splitter = framing.Splitter()
        self._frames.clear()

    def finish(self) -> bytes:
        """Return the end of the message."""
        return self._framed(self._events.finish()) + self._splitter.end()

    def rest(self) -> bytes:
        """See `Stream.rest`."""
        return self._splitter.end()

    def fail(self, status: int, error: Json) -> bytes:
        """Return an exception in a frame."""
        return framing.write_exception(status, error)

    def _handle(self, frame: framing.Event) -> bytes:
        event = _event_in(frame)
        if event is None:
            if not frame.kind:
                # After an exception nothing ends properly, not even a search that has begun.
                self._events.feed(_BROKEN_OFF)
            return frame.raw
        self._headers = frame.headers
        written = sse.write(event)
        self._frames[written] = frame.raw
        return self._framed(self._events.feed(written))

    def _framed(self, events: bytes) -> bytes:
        out = b""
        for event in sse.Splitter().feed(events):
            kept = self._frames.get(event.raw)
            out += self._frame(event.data or {}) if kept is None else kept
        return out

    def _frame(self, data: Json) -> bytes:
        text = b64encode(wire.encode(data)).decode()
        return framing.write(self._headers, {"bytes": text})


def _event_in(frame: framing.Event) -> dict[str, Any] | None:
    """The event that a frame holds; None for an exception and for anything else."""
    text = (frame.data or {}).get("bytes")
    if frame.kind != "chunk" or not isinstance(text, str):
        return None
    try:
        event = wire.decode(b64decode(text))
    except wire.UNREADABLE:
        return None
    return event if isinstance(event, dict) else None
