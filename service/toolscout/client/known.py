"""Tools that came before, recognised by their JSON: what was made of them is not made again.

An agent sends the same list with every request, and reading three hundred tools takes longer than
all that a turn does with them.
"""

from contextlib import suppress
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from toolscout.client.offer import Offer
from toolscout.common.lru import Lru

MAX_KNOWN_BYTES = 64 << 20
"""Approximate bytes in memory of all lists that are shared."""

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


class KnownLists(Lru[bytes, KnownTools]):
    """Lists by their JSON: who sends the same bytes gets the same objects.

    Args:
        limit: approximate bytes in memory of all lists; the least recently used go first.
    """

    def __init__(self, limit: int = MAX_KNOWN_BYTES) -> None:
        super().__init__(limit)

    def keep(self, written: bytes, tools: list[Any]) -> KnownTools:
        """Keep tools that were just decoded from these bytes."""
        kept = KnownTools(tools)
        self.put(written, kept, max(BYTES_PER_JSON_BYTE * len(written), MIN_LIST_BYTES))
        return kept

    def find_equal(self, tools: list[Any]) -> KnownTools | None:
        """Return known tools that equal those of a caller; None for what JSON would change.

        They are shared, so no caller gets them: one could change them for all others.
        """
        if isinstance(tools, KnownTools) or {*map(type, tools)} != {dict}:
            return None
        with suppress(Exception):  # some are no JSON
            written = msgspec.json.encode(tools)
            if (equal := self.get(written)) is not None:
                return equal
            decoded = msgspec.json.decode(written)
            return self.keep(written, decoded) if decoded == tools else None
        return None

    def make_offer(self, tools: list[Any]) -> Offer:
        """Return what a list offers: its own tools, and what was made of equal ones."""
        if isinstance(tools, KnownTools):
            return tools.offer
        offer = Offer(tools)
        if (equal := self.find_equal(tools)) is not None:
            offer.share(equal.offer)
        return offer


_SHARED = "shared"

_lists: WeakValueDictionary[str, KnownLists] = WeakValueDictionary()
_creating = Lock()


def share_lists() -> KnownLists:
    """Return the lists that all selectors and flows of this process share.

    They own them, at most `MAX_KNOWN_BYTES` together: the lists go with the last of them that is
    alive, and `clear` empties them before.
    """
    if (lists := _lists.get(_SHARED)) is not None:
        return lists
    with _creating:
        return _lists.setdefault(_SHARED, KnownLists())
