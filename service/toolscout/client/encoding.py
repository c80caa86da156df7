"""What of the offered tools goes over the wire: as much of each definition as the caller allows.

Tools that the service knows already are named by a digest, so that they need not be sent again.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from math import inf
from time import monotonic
from typing import Any, Literal
from weakref import WeakKeyDictionary

import msgspec

from toolscout.client.known import known_as
from toolscout.client.offer import Offer
from toolscout.common.lru import Lru
from toolscout.contract.bounds import MAX_NAME_CHARS
from toolscout.errors import InvalidArgument
from toolscout.tools.shapes import as_mapping, core_of, schema_of

Definition = Literal["full", "minimal", "none"]
"""How much of a tool's definition is sent: all of it, only its parameters' names, types and
descriptions, or nothing."""

Redact = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Takes what would be sent of one tool, returns what may be; None keeps the tool unsent."""

_NESTING = 8
"""Levels of a schema that a minimal definition follows."""


class Encoder:
    """Turns offered tools into the JSON array of a request.

    What cannot be written as JSON is left out: first the definition, then the tool, which then
    simply is not offered to the service.
    """

    def __init__(self, definition: Definition, redact: Redact | None) -> None:
        self._definition = definition
        self._redact = redact
        self._encode = msgspec.json.Encoder(enc_hook=_foreign).encode
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
            if (equal := known_as(tools)) is not None:
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
            if entry := self._entry(name, tool):
                written.append(self._written(entry))
        body = b"[" + b",".join(filter(None, written)) + b"]"
        return body, sha256(body).digest()

    def sends(self, name: str, tool: Any) -> bool:
        """Whether the service is told of a tool."""
        return self._entry(name, tool) is not None

    def _entry(self, name: str, tool: Any) -> dict[str, Any] | None:
        if len(name) > MAX_NAME_CHARS:
            return None  # the service would refuse the whole list for it
        fields = as_mapping(tool)
        entry: dict[str, Any] = {"name": name}
        description = core_of(fields).get("description")
        if isinstance(description, str) and description:
            entry["description"] = description
        if self._definition == "full":
            entry["definition"] = fields
        elif self._definition == "minimal":
            entry["definition"] = {"parameters": _minimal(schema_of(fields), 0)}
        return entry if self._redact is None else self._redacted(entry)

    def _redacted(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        assert self._redact is not None
        name = entry["name"]
        written = self._written(entry)
        # Written and read again it shares nothing with the caller's own objects.
        kept = self._redact(msgspec.json.decode(written)) if written else None
        if kept is None:
            return None
        if not isinstance(kept, dict):
            raise InvalidArgument.of("redact(tool)", "a dict or None", kept)
        # The name is how an answer is matched to its tool; hiding it hides the tool.
        return kept if kept.get("name") == name else None

    def _written(self, entry: dict[str, Any]) -> bytes:
        for keys in (("name", "description", "definition"), ("name", "description"), ("name",)):
            try:
                return self._encode({key: entry[key] for key in keys if key in entry})
            except Exception:  # noqa: S112 - the next try sends less
                continue
        return b""


def _minimal(node: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """Property names, types and descriptions; no examples, defaults, enumerations or notes."""
    kept: dict[str, Any] = {
        key: node[key] for key in ("type", "description") if isinstance(node.get(key), str)
    }
    if depth >= _NESTING:
        return kept
    properties = node.get("properties")
    if isinstance(properties, Mapping):
        kept["properties"] = {
            name: _minimal(sub, depth + 1) if isinstance(sub, Mapping) else {}
            for name, sub in properties.items()
        }
    items = node.get("items")
    if isinstance(items, Mapping):
        kept["items"] = _minimal(items, depth + 1)
    return kept


def _foreign(value: Any) -> Any:
    """Objects inside a definition that JSON has no form for."""
    return dict(value) if isinstance(value, Mapping) else str(value)


NO_DIGESTS_S = 60.0
"""Seconds without digests after a service did not know or support them."""


class Digests:
    """Maps the hash of sent tools to the service's digest; bounded, thread-safe."""

    def __init__(self, limit: int = 1_024) -> None:
        self._known: Lru[bytes, str] = Lru(limit)
        self._paused: Lru[bytes, float] = Lru(limit)
        """When the digest of some tools, that the service has forgotten, may be sent again."""
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
