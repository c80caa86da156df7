"""Head and body of an answer in one system call.

uvicorn writes one after the other; each write is a packet, and wakes the caller.
"""

import asyncio
from typing import Any


class OneWrite:
    """A transport that holds back a write, to send it with the next one of the same loop turn."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._soon = asyncio.get_running_loop().call_soon
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Hold a head; send it with the body."""
        if self._held:
            together, self._held = self._held + data, b""
            self._transport.write(together)
        else:
            self._held = data
            self._soon(self._flush)

    def close(self) -> None:
        """Send held data, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        """Send held data, unless the connection is closed."""
        alone, self._held = self._held, b""
        if alone and not self._transport.is_closing():
            self._transport.write(alone)
