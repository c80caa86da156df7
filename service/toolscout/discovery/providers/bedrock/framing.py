"""AWS event streams (`application/vnd.amazon.eventstream`): cutting bytes into events, and back.

    total length | length of the headers | CRC | headers | payload | CRC of everything before

Lengths and CRC-32 are 4 bytes each, the most significant first. A header is the length of its name
in 1 byte, its name, its type in 1 byte and its value; the names of events are texts (type 7).
"""

import struct
from typing import Any
from zlib import crc32

from toolscout.discovery import wire
from toolscout.discovery.providers.sse import Event

_PRELUDE = struct.Struct(">II")
_CRC = struct.Struct(">I")
_HEAD_BYTES = _PRELUDE.size + _CRC.size
_LEAST_BYTES = _HEAD_BYTES + _CRC.size

MAX_BYTES = 24 * 1024 * 1024
"""Longest event that the format allows."""

_EXCEPTIONS = {429: "throttlingException", 503: "serviceUnavailableException"}
_EXCEPTIONS |= {400: "validationException", 424: "modelStreamErrorException"}
_MESSAGE = {":message-type": "exception"}

_TEXT = 7
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of the values of each type; those of types 6 and 7 have their length in 2 bytes."""


class Splitter:
    """Takes bytes in any pieces, gives whole events; bytes that are no event come back as one."""

    def __init__(self) -> None:
        self._rest = b""

    def end(self) -> bytes:
        """Return what is left of a stream that ended within an event."""
        rest, self._rest = self._rest, b""
        return rest.removesuffix(b"\n\n")  # fed after every stream, for those of other forms

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that are complete now."""
        self._rest += chunk
        events = []
        while len(self._rest) >= _HEAD_BYTES:
            total, _ = _PRELUDE.unpack_from(self._rest)
            (check,) = _CRC.unpack_from(self._rest, _PRELUDE.size)
            is_event = check == crc32(self._rest[: _PRELUDE.size])
            if not is_event or not _LEAST_BYTES <= total <= MAX_BYTES:
                events.append(Event(self._rest))
                self._rest = b""
            elif len(self._rest) < total:
                break
            else:
                events.append(_read(self._rest[:total]))
                self._rest = self._rest[total:]
        return events


def write(headers: bytes, data: dict[str, Any]) -> bytes:
    """Return an event as bytes."""
    payload = wire.encode(data)
    total = _LEAST_BYTES + len(headers) + len(payload)
    prelude = _PRELUDE.pack(total, len(headers))
    whole = prelude + _CRC.pack(crc32(prelude)) + headers + payload
    return whole + _CRC.pack(crc32(whole))


def write_exception(status: int, error: dict[str, Any]) -> bytes:
    """Return an exception, which ends a stream, as bytes."""
    kind = _EXCEPTIONS.get(status, "internalServerException")
    texts = {":exception-type": kind, ":content-type": "application/json"}
    headers = b"".join(map(_header, *zip(*(texts | _MESSAGE).items(), strict=True)))
    return write(headers, {"message": error.get("message")})


def _header(name: str, value: str) -> bytes:
    head = bytes([len(name)]) + name.encode() + bytes([_TEXT])
    return head + struct.pack(">H", len(value)) + value.encode()


def _read(raw: bytes) -> Event:
    _, size = _PRELUDE.unpack_from(raw)
    (check,) = _CRC.unpack_from(raw, len(raw) - _CRC.size)
    end = len(raw) - _CRC.size
    if check != crc32(raw[:end]) or _HEAD_BYTES + size > end:
        return Event(raw)
    headers = raw[_HEAD_BYTES : _HEAD_BYTES + size]
    try:
        kind = _texts(headers).get(":event-type", "")
        data = wire.decode(raw[_HEAD_BYTES + size : end])
    except (struct.error, KeyError, *wire.UNREADABLE):
        return Event(raw, headers=headers)
    return Event(raw, data if isinstance(data, dict) else None, kind, headers)


def _texts(headers: bytes) -> dict[str, str]:
    """Return the headers that are texts."""
    found = {}
    place = 0
    while place < len(headers):
        start = place + 1 + headers[place]
        name, kind = headers[place + 1 : start].decode(), headers[start : start + 1]
        start += 1
        size = _SIZES.get(kind[0]) if kind else 0
        if size is None:
            (size,) = struct.unpack_from(">H", headers, start)
            start += 2
        place = start + size
        if kind and kind[0] == _TEXT:
            found[name] = headers[start:place].decode()
    return found
