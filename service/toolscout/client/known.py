"""Tools that came before, recognised by their JSON: what was made of them is not made again.

An agent sends the same list with every request, and reading three hundred tools takes longer than
all that a turn does with them.
"""

from contextlib import suppress
from typing import Any

import msgspec

from toolscout.client.offer import Offer
from toolscout.common.lru import Lru

MAX_KNOWN_BYTES = 64 << 20
"""Approximate bytes in memory of all lists that are remembered."""

MIN_LIST_BYTES = 64 << 10
"""Bytes that a short list counts as, so that a thousand lists are remembered at most."""

BYTES_PER_JSON_BYTE = 9
"""Bytes in memory of a decoded list and what is sent of it, for each byte of its JSON."""


class KnownTools(list[Any]):
    """Tools that were decoded here, so that nobody changes them, and their offer."""

    def __init__(self, tools: list[Any]) -> None:
        super().__init__(tools)
        self.offer = Offer(tools)  # not of itself, which would make a circle
        self.offer.is_known = True


_KNOWN: Lru[bytes, KnownTools] = Lru(MAX_KNOWN_BYTES)
"""By their JSON: who sends the same bytes gets the same objects."""


def find(written: bytes) -> KnownTools | None:
    """Return the tools that came before as these bytes."""
    return _KNOWN.get(written)


def keep(written: bytes, tools: list[Any]) -> KnownTools:
    """Keep tools that were just decoded from these bytes."""
    kept = KnownTools(tools)
    _KNOWN.put(written, kept, max(BYTES_PER_JSON_BYTE * len(written), MIN_LIST_BYTES))
    return kept


def known_as(tools: list[Any]) -> KnownTools | None:
    """Return known tools that equal those of a caller; None for what JSON would change.

    They are nobody's: a caller who got them could change them for all others.
    """
    if isinstance(tools, KnownTools) or {*map(type, tools)} != {dict}:
        return None
    with suppress(Exception):  # some are no JSON
        written = msgspec.json.encode(tools)
        if (equal := find(written)) is not None:
            return equal
        decoded = msgspec.json.decode(written)
        return keep(written, decoded) if decoded == tools else None
    return None


def offer_of(tools: list[Any]) -> Offer:
    """Return what a list offers: its own tools, and what was made of equal ones."""
    if isinstance(tools, KnownTools):
        return tools.offer
    offer = Offer(tools)
    if (equal := known_as(tools)) is not None:
        offer.share(equal.offer)
    return offer
