"""What is written and read of a connection beside its protocol.

A connection that is closed while its caller still sends is read a little longer, and the data
dropped, because unread bytes would cause a reset before the caller reads the answer.

uvicorn writes the head of an answer and its body one after the other; each write is a packet, and
wakes the caller. Here both go out in one system call.
"""

import asyncio
from typing import Any, Protocol, cast

from uvicorn.protocols.http.flow_control import FlowControl

from toolscout.serving.connections import ServedConnections, Watched

LINGER_S = 1.0
"""Seconds that a closing connection is still read, so that its caller gets the answer."""


class ReadConnection(Watched, Protocol):
    """The interface of a connection that is being closed."""

    limits: ServedConnections
    flow: FlowControl

    def is_receiving(self) -> bool:
        """Return whether the caller may still be sending a request."""

    def has_waiting(self) -> bool:
        """Return whether requests wait behind one that is being answered."""


class ClosingTransport:
    """A transport that waits shortly for the caller before it closes.

    It holds back a write, to send it with the next one of the same loop turn.
    """

    def __init__(self, transport: asyncio.Transport, connection: ReadConnection) -> None:
        self._transport = transport
        self._connection = connection
        self._soon = asyncio.get_running_loop().call_soon
        self._held = b""
        self.is_ended = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Hold a head; send it with the body."""
        if self._held:
            together = self._held + data
            self._held = b""
            self._transport.write(together)
        else:
            self._held = data
            self._soon(self._flush)

    def _flush(self) -> None:
        """Send held data, unless the connection is closed."""
        alone = self._held
        self._held = b""
        if alone and not self._transport.is_closing():
            self._transport.write(alone)

    def is_closing(self) -> bool:
        """Return whether the connection is closing."""
        return self.is_ended or self._transport.is_closing()

    def close(self) -> None:
        """Send buffered data, and close once the caller had time to read it."""
        self._flush()
        connections = self._connection.limits
        settings = self._connection.limits.settings
        if self._transport.is_closing():
            return
        if self.is_ended or not self._connection.is_receiving():
            self.is_ended = True
            if self._transport.get_write_buffer_size():
                connections.watch(self._connection, "unread", settings.caller_timeout_s)
            self._transport.close()
            return
        self.is_ended = True
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._connection.flow.resume_reading()
        connections.watch(self._connection, "closing", LINGER_S)


class ReadingFlow(FlowControl):
    """Resumes reading only when no request waits behind another."""

    def __init__(self, transport: ClosingTransport, connection: ReadConnection) -> None:
        super().__init__(cast(asyncio.Transport, transport))
        self._connection = connection

    def resume_reading(self) -> None:
        """Resume reading, unless requests wait; uvicorn calls this after each answer."""
        if not self._connection.has_waiting():
            super().resume_reading()
