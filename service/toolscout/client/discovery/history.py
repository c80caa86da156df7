"""Put the searches of earlier turns back into a conversation, where they were made.

The caller never sees a search, so its next request lacks the messages that the model saw. Sent
like that, the conversation would no longer begin with the bytes of the request before: the
provider's cache would be lost, and with it the tools that the results of searches have loaded. So
the messages that a turn added are stored under a hash of the messages before them.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from toolscout.client.discovery.session import SessionStore, canonical
from toolscout.client.providers.provider import as_dict


class History:
    """The messages of one request, and what was added after some of them.

    Args:
        messages: as the caller sent them.
        store: holds the added messages of all conversations.
        seed: the conversation and the form of its requests, which never mix; "" when it is
            unknown, and nothing is put back.
    """

    def __init__(self, messages: Sequence[Any], store: SessionStore, seed: str) -> None:
        self._store = store
        self._key = b""
        self.searches: list[Any] = []
        """All messages that were put back."""
        self.whole: list[Any] = []
        """The messages with those put back."""
        self._own = 0
        """Number of messages before those of the current turn."""
        key = sha256(seed.encode()).digest() if seed else b""
        for message in messages:
            self.whole.append(message)
            self._own = len(self.whole)
            key = self._key = _next_key(key, message)
            added = store.searches(key) if key else []
            self.whole += added
            self.searches += added

    def forget(self) -> None:
        """Store nothing of this turn."""
        self._key = b""

    def keep(self, messages: Sequence[Any]) -> None:
        """Store what a turn has added, given all messages of its last request."""
        if self._key and len(messages) > self._own:
            self._store.keep_searches(self._key, messages[self._own :])


def _next_key(before: bytes, message: Any) -> bytes:
    """Return the hash of the messages up to this one; empty from one on that is no JSON."""
    found = as_dict(message)
    if not before or found is None:
        return b""
    try:
        written = msgspec.json.encode(canonical(found), order="sorted")
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return b""
    return sha256(before + written).digest()
