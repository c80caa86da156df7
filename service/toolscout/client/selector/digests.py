"""Digests of catalogs that the service knows, so that their tools need not be sent again."""

import threading

from toolscout.common.lru import Lru

PAUSE_S = 60.0
"""Seconds without digests after a service did not support or keep them."""

PATIENCE = 2
"""Times in a row that a catalog may be unknown; after a restart it is unknown once."""


class Digests:
    """Maps the hash of sent tools to the service's digest; bounded, thread-safe."""

    def __init__(self, limit: int = 1_024) -> None:
        self._lock = threading.Lock()
        self._known: Lru[bytes, str] = Lru(limit)
        self._forgotten: Lru[bytes, int] = Lru(limit)
        """Times in a row that the service did not know a catalog."""
        self._paused_until = 0.0

    def get(self, tools: bytes, now: float) -> str | None:
        """The digest to send instead of these tools, if there is one."""
        return None if now < self._paused_until else self._known.get(tools)

    def learn(self, tools: bytes, digest: str) -> None:
        """Remember the service's digest of these tools."""
        self._known.put(tools, digest)

    def served(self, tools: bytes) -> None:
        """Record that the service knew this catalog by its digest."""
        self._forgotten.pop(tools)

    def forget(self, tools: bytes, now: float) -> None:
        """Record that the service does not know this catalog any more.

        If that happens again and again, digests pause, because every call would be two requests.
        """
        with self._lock:
            self._known.pop(tools)
            times = (self._forgotten.get(tools) or 0) + 1
            self._forgotten.put(tools, times)
        if times >= PATIENCE:
            self.pause(now)

    def pause(self, now: float) -> None:
        """Send no digests for a while, because the service does not support them."""
        self._known.clear()
        self._forgotten.clear()
        self._paused_until = now + PAUSE_S
