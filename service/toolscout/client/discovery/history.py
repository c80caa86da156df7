"""Put the searches of earlier turns back into a conversation, where they were made.

The caller never sees a search, so its next request lacks the messages that the model saw. Sent
like that, the conversation would no longer begin with the bytes of the request before: the
provider's cache would be lost, and with it the tools that the results of searches have loaded. So
the messages that a turn added are stored under a hash of the messages before them.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from toolscout.client.discovery.session import SessionStore, canonical
from toolscout.client.providers.provider import as_dict

BESIDE = (
    *("model", "system", "instructions", "prompt", "systemInstruction", "system_instruction"),
    *("user", "metadata", "safety_identifier"),
)
"""Keys of a request beside its messages that say who asks, or that the model reads."""


class History:
    """The messages of one request, and what was added after some of them.

    Args:
        messages: as the caller sent them.
        store: holds the added messages of all conversations.
        seed: the conversation, the form of its requests and what they say beside messages, none of
            which ever mix; empty when it is unknown, and nothing is put back.
    """

    def __init__(self, messages: Sequence[Any], store: SessionStore, seed: bytes) -> None:
        self._store = store
        self._key = b""
        self.searches: list[Any] = []
        """All messages that were put back."""
        self.whole: list[Any] = []
        """The messages with those put back."""
        self._own = 0
        """Number of messages before those of the current turn."""
        key = sha256(seed).digest() if seed else b""
        last = len(messages) - 1
        for number, message in enumerate(messages):
            self.whole.append(message)
            self._own = len(self.whole)
            key = self._key = _next_key(key, message)
            # After the last message nothing was answered yet: another turn begins there.
            added = store.searches(key) if key and number != last else []
            self.whole += added
            self.searches += added

    def forget(self) -> None:
        """Store nothing of this turn."""
        self._key = b""

    def keep(self, messages: Sequence[Any]) -> None:
        """Store what a turn has added, given all messages of its last request."""
        if self._key and len(messages) > self._own:
            self._store.keep_searches(self._key, messages[self._own :])


def seed_of(form: str, session: str, request: Mapping[str, Any]) -> bytes:
    """Return what tells a conversation from all others that begin with the same messages."""
    beside = {key: request[key] for key in BESIDE if key in request}
    try:
        return f"{form} {session} ".encode() + msgspec.json.encode(beside, order="sorted")
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return b""


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
