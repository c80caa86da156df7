"""Which catalogs the service knows already, so that their tools need not be sent again."""

import threading

from toolscout.common.lru import Lru

PAUSE_S = 60.0
"""How long no digest is sent to a service that turned out not to understand or to keep them."""

PATIENCE = 2
"""Times in a row that a catalog may turn out forgotten; a restart forgets it once."""


class Digests:
    """From the hash of sent tools to the digest the service gave them; bounded, thread-safe."""

    def __init__(self, limit: int = 1_024) -> None:
        self._lock = threading.Lock()
        self._known: Lru[bytes, str] = Lru(limit)
        self._forgotten: Lru[bytes, int] = Lru(limit)
        """How often in a row the service had forgotten a catalog."""
        self._paused_until = 0.0

    def get(self, tools: bytes, now: float) -> str | None:
        """The digest to send instead of these tools, if there is one."""
        return None if now < self._paused_until else self._known.get(tools)

    def learn(self, tools: bytes, digest: str) -> None:
        """Remember what the service called these tools."""
        self._known.put(tools, digest)

    def served(self, tools: bytes) -> None:
        """The service knew this catalog by its digest."""
        self._forgotten.pop(tools)

    def forget(self, tools: bytes, now: float) -> None:
        """The service does not know this catalog any more.

        When it forgets the same one again and again, every call would be two requests.
        """
        with self._lock:
            self._known.pop(tools)
            times = (self._forgotten.get(tools) or 0) + 1
            self._forgotten.put(tools, times)
        if times >= PATIENCE:
            self.pause(now)

    def pause(self, now: float) -> None:
        """The service does not understand digests."""
        self._known.clear()
        self._forgotten.clear()
        self._paused_until = now + PAUSE_S
