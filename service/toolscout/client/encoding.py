"""What of the offered tools goes over the wire: as much of each definition as the caller allows.

Tools that the service knows already are named by a digest, so that they need not be sent again.
"""

from collections.abc import Callable
from hashlib import sha256
from math import inf
from time import monotonic
from typing import Any, Literal
from weakref import WeakKeyDictionary

import msgspec

from toolscout.client.known import share_lists
from toolscout.client.offer import Offer
from toolscout.client.sent_tools import drop_definition, read_offered
from toolscout.common.lru import Lru
from toolscout.contract.bounds import MAX_NAME_CHARS
from toolscout.errors import InvalidArgument
from toolscout.tools.shapes import as_mapping

Definition = Literal["full", "minimal", "none"]
"""How much of a tool's definition is sent: all of it, only its parameters' names, types and
descriptions, or nothing."""

Redact = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Takes what would be sent of one tool, returns what may be; None keeps the tool unsent."""


class RequestEncoder:
    """Turns offered tools into the JSON array of a request.

    A tool that cannot be written as JSON is not offered to the service.
    """

    def __init__(self, definition: Definition, redact: Redact | None) -> None:
        self._definition = definition
        self._redact = redact
        self._known = share_lists()
        self._encode = msgspec.json.Encoder().encode
        self._of_offers: WeakKeyDictionary[Offer, tuple[bytes, bytes]] = WeakKeyDictionary()
        """What is sent of tools, for as long as they are known."""

    def encode(self, offer: Offer, deadline: float = inf) -> tuple[bytes, bytes]:
        """Return the array, and the SHA-256 by which it is recognised.

        Raises:
            TimeoutError: the deadline (monotonic seconds) came before the end of the tools.
        """
        if self._redact is not None:  # whose answer may depend on who asks
            return self._written_anew(offer, deadline)
        if (encoded := self._of_offers.get(offer)) is None:
            tools = [] if offer.is_known or offer.equal else [*offer.by_name.values()]
            if (equal := self._known.find_equal(tools)) is not None:
                offer.share(equal.offer)
            shared = offer.equal or offer
            encoded = self._of_offers.get(shared) or self._written_anew(shared, deadline)
            self._of_offers[offer] = self._of_offers[shared] = encoded
        return encoded

    def _written_anew(self, offer: Offer, deadline: float) -> tuple[bytes, bytes]:
        written: list[bytes] = []
        for name, tool in offer.by_name.items():
            if monotonic() >= deadline:
                raise TimeoutError
            written.append(self._write(name, tool))
        body = b"[" + b",".join(filter(None, written)) + b"]"
        return body, sha256(body).digest()

    def sends(self, name: str, tool: Any) -> bool:
        """Whether the service is told of a tool."""
        return self._write(name, tool) != b""

    def _write(self, name: str, tool: Any) -> bytes:
        """Return a tool as JSON; empty if it is not sent."""
        if len(name) > MAX_NAME_CHARS:
            return b""  # the service would refuse the whole list for it
        sent = read_offered(name, as_mapping(tool))
        if self._definition != "full":
            sent = drop_definition(sent, keeps_parameters=self._definition == "minimal")
        try:
            written = self._encode(sent)
        except UnicodeEncodeError:  # half a character, as in a name
            return b""
        return written if self._redact is None else self._redacted(name, written)

    def _redacted(self, name: str, written: bytes) -> bytes:
        assert self._redact is not None
        # Read anew, it shares nothing with the caller's own objects.
        kept = self._redact(msgspec.json.decode(written))
        if kept is None:
            return b""
        if not isinstance(kept, dict):
            raise InvalidArgument.of("redact(tool)", "a dict or None", kept)
        # The name is how an answer is matched to its tool; hiding it hides the tool.
        return self._encode(kept) if kept.get("name") == name else b""


NO_DIGESTS_S = 60.0
"""Seconds without digests after a service did not know or support them."""


class Digests:
    """Maps the hash of sent tools to the service's digest; bounded, thread-safe."""

    def __init__(self, limit: int = 1_024) -> None:
        self._known: Lru[bytes, str] = Lru(limit)
        self._paused: Lru[bytes, float] = Lru(limit)
        """When a digest that the service has forgotten may be sent again."""
        self._paused_until = 0.0

    def get(self, tools: bytes, now: float) -> str | None:
        """Return the digest to send instead of these tools, if there is one."""
        if now < max(self._paused_until, self._paused.get(tools) or 0.0):
            return None
        return self._known.get(tools)

    def learn(self, tools: bytes, digest: str) -> None:
        """Remember the service's digest of these tools."""
        self._known.put(tools, digest)

    def pause(self, tools: bytes | None, now: float) -> None:
        """Send no digest of these tools for a while, or none at all: a call would be two."""
        if tools is None:
            self._paused_until = now + NO_DIGESTS_S
        else:
            self._paused.put(tools, now + NO_DIGESTS_S)
