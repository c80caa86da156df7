"""The body of a request as it was written: read where it is short, and forwarded in slices.

A picture in base64 is a text of some megabytes that nobody here looks into. It is cut out before
the body is decoded, a short text stands for it, and it is put back before the body is sent.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Collection, Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import msgspec

from toolscout.client.known import share_lists
from toolscout.contract.bounds import count_values
from toolscout.turns.providers import Json
from toolscout.turns.providers.fields import UNREADABLE, decode, object_of

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

LARGE_BYTES = 128 * 1024
"""Size of a request from which it is decoded and prepared beside the event loop."""

LONG_BYTES = 64 * 1024
"""Length of a text in base64 from which it is cut out."""

_LONG = re.compile(rb'"(?:data:[\w\\/+.;=-]{1,99},)?[A-Za-z0-9+/=_\\-]{%d,}+(?<!\\)"' % LONG_BYTES)
"""A long text in base64, or such a data URL, with its quotes; some write `\\/` for a slash."""

_SLICE = re.compile(rb'"toolscout-slice-[0-9a-f]{32}"')
"""What stands for a text that was cut out: the same for the same one, as histories are compared."""

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])

_TOOLS = "tools"
"""Where most interfaces have the tools of a request."""


class WrittenBody:
    """A body of a request, split into its fields, which is fast whatever it holds.

    They are still JSON, but for tools that came before. There are none if it is no object, or
    cannot be split.
    """

    def __init__(self, content: bytes) -> None:
        self.slices: dict[bytes, bytes] = {}
        """The texts that were cut out, by what stands for each."""
        content = content.removeprefix(BOM_UTF8)
        if _has_long_text(content):
            content = _LONG.sub(lambda found: self._cut(found[0]), content)
        self._content = content
        self._known = share_lists()
        self._fields = dict[str, Any]()
        with suppress(*UNREADABLE):
            self._fields = {key: bytes(raw) for key, raw in _FIELDS.decode(content).items()}
        if (tools := self._known.get(self._fields.get(_TOOLS, b""))) is not None:
            self._fields[_TOOLS] = tools
        self._written = {k: text for k, text in self._fields.items() if isinstance(text, bytes)}

    @property
    def is_large(self) -> bool:
        """Whether an event loop may not be held while it is decoded and prepared."""
        return _count_bytes(self._unread) > LARGE_BYTES

    @property
    def is_too_large(self) -> bool:
        """Whether it holds too much to be searched."""
        return _is_too_large(self._unread)

    @property
    def _unread(self) -> Collection[bytes]:
        return self._written.values() if self._fields else (self._content,)

    def cut_large_fields(self) -> None:
        """Cut out whole fields, as the conversation, and leave the tools."""
        for key, text in self._written.items():
            if key != _TOOLS and len(text) > LONG_BYTES:
                self._written[key] = self._cut(text)

    def decoded(self) -> Json | None:
        """Return it as a dict; None if it is no JSON object, or still holds too much."""
        if self.is_too_large:
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

    def _cut(self, text: bytes) -> bytes:
        """Keep a text of JSON; return the one that stands for it."""
        digest = blake2b(text, digest_size=16).hexdigest()
        stand_in = f'"toolscout-slice-{digest}"'.encode()
        self.slices[stand_in] = text
        return stand_in


def put_slices_back(content: bytes, slices: Mapping[bytes, bytes]) -> bytes:
    """Return an encoded body with the texts that were cut out of it."""
    if not slices:
        return content
    return _SLICE.sub(lambda found: slices.get(found[0], found[0]), content)


def _has_long_text(content: bytes) -> bool:
    """Return whether some text may be long enough to be cut out: one without any quote in it."""
    half = LONG_BYTES // 2
    starts = range(0, len(content) - half, half)
    return any(content.find(b'"', start, start + half) < 0 for start in starts)


def _count_bytes(texts: Collection[bytes]) -> int:
    return sum(map(len, texts))


def _is_too_large(texts: Collection[bytes]) -> bool:
    if _count_bytes(texts) > MAX_SEARCHED_BYTES:
        return True
    return sum(map(count_values, texts)) > MAX_SEARCHED_VALUES
