"""Long texts in base64, as pictures and documents are: cut out of JSON, and put back.

A short text stands for each, the same for the same one, because histories are compared. It has a
key of this process, so nobody can write it.
"""

import os
import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b

LONG_BYTES = 64 * 1024
"""Length of a text in base64 from which it is cut out."""

STEP_BYTES = 1024 * 1024
"""Bytes that are looked through at once: others may run after each step."""

_KEY = os.urandom(16)

_HEAD = re.compile(rb'"(?:data:[\w\\/+.;=-]{1,99},)?')
"""How such a text begins: it may be a data URL."""

_BASE64 = re.compile(rb"[A-Za-z0-9+/=_\\-]+")
"""What it holds; some write `\\/` for a slash."""

_STAND_IN = re.compile(rb'"toolscout-slice-[0-9a-f]{32}"')


def cut_long_texts(content: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """Return JSON without its long texts, and these by what stands for each, quotes included."""
    slices: dict[bytes, bytes] = {}
    parts = []
    end = 0
    for start, stop in _find_long_texts(content):
        text = content[start:stop]
        stand_in = name_slice(text)
        slices[stand_in] = text
        parts += [content[end:start], stand_in]
        end = stop
    if not slices:
        return content, slices
    return b"".join([*parts, content[end:]]), slices


def name_slice(text: bytes) -> bytes:
    """Return what stands for a text of JSON; it is one, too."""
    digest = blake2b(text, digest_size=16, key=_KEY).hexdigest()
    return f'"toolscout-slice-{digest}"'.encode()


def shorten_text(text: str) -> str:
    """Return a decoded text, or what stands for it where it is cut out of requests."""
    if len(text) < LONG_BYTES:
        return text
    return name_slice(f'"{text}"'.encode("utf-8", "replace")).decode().strip('"')


def put_slices_back(content: bytes, slices: Mapping[bytes, bytes]) -> bytes:
    """Return JSON with the texts that were cut out of it."""
    if not slices:
        return content
    return _STAND_IN.sub(lambda found: slices.get(found[0], found[0]), content)


def _find_long_texts(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield where long texts in base64 begin and end, with their quotes."""
    half = LONG_BYTES // 2
    place = 0
    while place + half < len(content):
        # A text of that length has a window without any quote.
        if content.find(b'"', place, place + half) >= 0:
            place += half
            continue
        start = content.rfind(b'"', max(0, place - half), place)
        stop = content.find(b'"', place + half) + 1
        if not stop:
            return
        if start >= 0 and stop - start > LONG_BYTES and _is_base64(content, start, stop - 1):
            yield start, stop
        place = stop


def _is_base64(content: bytes, start: int, stop: int) -> bool:
    """Return whether a text between two quotes is in base64, and the second quote ends it."""
    head = _HEAD.match(content, start, stop)
    if head is None or content[stop - 1 : stop] == b"\\":
        return False
    steps = range(head.end(), stop, STEP_BYTES)
    return all(_BASE64.fullmatch(content, at, min(at + STEP_BYTES, stop)) for at in steps)
