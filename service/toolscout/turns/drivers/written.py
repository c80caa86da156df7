"""The body of a request as it was written: read where it is short, and forwarded in slices.

A picture in base64 is a text of some megabytes that nobody here looks into. It is cut out before
the body is decoded, a short text stands for it, and it is put back before the body is sent.
"""

from codecs import BOM_UTF8
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from toolscout.client.known import share_lists
from toolscout.contract.bounds import count_values
from toolscout.turns.providers import Json
from toolscout.turns.providers.fields import UNREADABLE, decode, object_of
from toolscout.turns.providers.slices import (
    LONG_BYTES,
    STEP_BYTES,
    cut_long_texts,
    name_slice,
    put_slices_back,
)

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Maximum size of a request that is looked into; providers take 32 to 50 MB, gateways more."""

MAX_SEARCHED_BYTES = 8 * 1024 * 1024
"""Maximum size of a request that is searched, without the texts that are cut out, and of an answer
that is looked into: decoded and written again they take several times their size in memory, and two
million tokens fit into it.
"""

MAX_SEARCHED_VALUES = 400_000
"""Maximum commas and brackets of a request that is searched, and of an answer that is looked into,
those inside texts included: decoding `[[],[], …` of 8 MiB would take seconds.
"""

MAX_SPLIT_VALUES = 4_000_000
"""Maximum of the same in a request that is split into its fields; none of them is made for it."""

LARGE_BYTES = 128 * 1024
"""Size of a request from which it is decoded and prepared beside the event loop."""

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])

_TOOLS = "tools"
"""Where most interfaces have the tools of a request."""


class WrittenBody:
    """A body of a request, split into its fields, which is fast whatever it holds.

    They are still JSON, but for tools that came before. There are none if it is no object, or
    cannot be split.
    """

    def __init__(self, content: bytes) -> None:
        self._content, self.slices = cut_long_texts(content.removeprefix(BOM_UTF8))
        """What is left, and the texts that were cut out, by what stands for each."""
        self._known = share_lists()
        self._fields = _split_fields(self._content)
        if (tools := self._known.get(self._fields.get(_TOOLS, b""))) is not None:
            self._fields[_TOOLS] = tools
        self._written = {k: text for k, text in self._fields.items() if isinstance(text, bytes)}
        self.is_searched = True
        """Whether its tools may be deferred, once it is decoded: not where it holds too much."""

    @property
    def is_large(self) -> bool:
        """Whether an event loop may not be held while it is decoded and prepared."""
        return sum(map(len, self._unread)) > LARGE_BYTES

    @property
    def _unread(self) -> Collection[bytes]:
        return self._written.values() if self._fields else (self._content,)

    def decoded(self) -> Json | None:
        """Return it as a dict; None if it is no JSON object.

        Of what holds too much to be searched large fields are cut out whole, as the conversation;
        None if it holds too much all the same.
        """
        if _is_too_large(self._unread):
            self.is_searched = False
            self._cut_large_fields()
            if _is_too_large(self._unread):
                return None
        if not self._fields:  # perhaps it has lone surrogates
            return object_of(self._content)
        try:
            read = {key: decode(text) for key, text in self._written.items()}
        except UNREADABLE:
            return None
        if isinstance(tools := read.get(_TOOLS), list):
            read[_TOOLS] = self._known.keep(self._written[_TOOLS], tools)
        return {**self._fields, **read}

    def _cut_large_fields(self) -> None:
        for key, text in self._written.items():
            if key != _TOOLS and len(text) > LONG_BYTES:
                whole = put_slices_back(text, self.slices)
                stand_in = name_slice(whole)
                self.slices[stand_in] = whole
                self._written[key] = stand_in


def _split_fields(content: bytes) -> dict[str, Any]:
    """Return the fields of an object as JSON; none of what is no object, or may have too many."""
    if _has_more(content, MAX_SPLIT_VALUES, count_values):
        return {}
    if _has_more(content, MAX_SEARCHED_VALUES, lambda step: step.count(b":")):
        return {}
    try:
        return {key: bytes(raw) for key, raw in _FIELDS.decode(content).items()}
    except UNREADABLE:
        return {}


def _has_more(content: bytes, most: int, count: Callable[[bytes], int]) -> bool:
    """Return whether there is more of something; others run after each step."""
    found = 0
    for start in range(0, len(content), STEP_BYTES):
        found += count(content[start : start + STEP_BYTES])
        if found > most:
            return True
    return False


def _is_too_large(texts: Collection[bytes]) -> bool:
    if sum(map(len, texts)) > MAX_SEARCHED_BYTES:
        return True
    return sum(map(count_values, texts)) > MAX_SEARCHED_VALUES
