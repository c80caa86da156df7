"""Which catalogues the service knows already, so that their tools need not be sent again."""

import threading
from collections import OrderedDict

PAUSE_S = 60.0
"""How long no digest is sent to a service that turned out not to understand them."""


class Digests:
    """From the hash of sent tools to the digest the service gave them; bounded, thread-safe."""

    def __init__(self, limit: int = 1_024) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, str] = OrderedDict()
        self._paused_until = 0.0

    def get(self, tools: bytes, now: float) -> str | None:
        """The digest to send instead of these tools, if there is one."""
        with self._lock:
            if now < self._paused_until or tools not in self._known:
                return None
            self._known.move_to_end(tools)
            return self._known[tools]

    def learn(self, tools: bytes, digest: str) -> None:
        """Remember what the service called these tools."""
        with self._lock:
            self._known[tools] = digest
            self._known.move_to_end(tools)
            while len(self._known) > self._limit:
                self._known.popitem(last=False)

    def forget(self, tools: bytes) -> None:
        """The service does not know this catalogue any more."""
        with self._lock:
            self._known.pop(tools, None)

    def pause(self, now: float) -> None:
        """The service does not understand digests."""
        with self._lock:
            self._known.clear()
            self._paused_until = now + PAUSE_S
