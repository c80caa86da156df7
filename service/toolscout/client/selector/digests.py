"""Which catalogs the service knows already, so that their tools need not be sent again."""

import threading
from collections import OrderedDict

PAUSE_S = 60.0
"""How long no digest is sent to a service that turned out not to understand or to keep them."""

PATIENCE = 2
"""Times in a row that a catalog may turn out forgotten; a restart forgets it once."""


class Digests:
    """From the hash of sent tools to the digest the service gave them; bounded, thread-safe."""

    def __init__(self, limit: int = 1_024) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, str] = OrderedDict()
        self._forgotten: dict[bytes, int] = {}
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
                forgotten, _ = self._known.popitem(last=False)
                self._forgotten.pop(forgotten, None)

    def served(self, tools: bytes) -> None:
        """The service knew this catalog by its digest."""
        with self._lock:
            self._forgotten.pop(tools, None)

    def forget(self, tools: bytes, now: float) -> None:
        """The service does not know this catalog any more.

        When it forgets the same one again and again, every call would be two requests.
        """
        with self._lock:
            self._known.pop(tools, None)
            self._forgotten[tools] = self._forgotten.get(tools, 0) + 1
            while len(self._forgotten) > self._limit:
                del self._forgotten[next(iter(self._forgotten))]
            if self._forgotten[tools] >= PATIENCE:
                self._pause(now)

    def pause(self, now: float) -> None:
        """The service does not understand digests."""
        with self._lock:
            self._pause(now)

    def _pause(self, now: float) -> None:
        self._known.clear()
        self._forgotten.clear()
        self._paused_until = now + PAUSE_S
