"""Counting the values of JSON text before any of them is made.

A value is counted by the comma or the opening bracket before it. NumPy counts in pieces that fit
into the processor's cache and releases the interpreter lock: 5 ms for 16 MiB, however dense.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_PIECE = 1 << 18
_QUOTE, _COMMA, _BRACE, _CLOSING = b'",{}'
_CASE = 0x20
"""The bit by which `[` and `{` differ, and `]` and `}`."""


def count_values(text: bytes | memoryview) -> int:
    """Count commas and opening brackets, those inside texts included."""
    chars = np.frombuffer(text, np.uint8)
    return sum(
        int(np.count_nonzero(_find_marks(chars[at : at + _PIECE])))
        for at in range(0, len(chars), _PIECE)
    )


def count_values_outside_texts(text: bytes | bytearray | memoryview) -> int:
    """Count commas and opening brackets that are not inside texts."""
    return sum(
        int(np.count_nonzero(_find_marks(piece) & outside)) for piece, outside in _cut_pieces(text)
    )


def is_deeper(text: bytes | memoryview, levels: int) -> bool:
    """Tell whether JSON is nested more than so many levels deep.

    Text that is too short or has too few brackets is told from that, at a microsecond for 2 KB.
    """
    if len(text) <= 2 * levels:
        return False
    content = bytes(text)
    if content.count(b"{") + content.count(b"[") <= levels:
        return False
    level = 0
    for piece, outside in _cut_pieces(content):
        cased = piece | _CASE
        steps = ((cased == _BRACE) & outside).astype(np.int32)
        steps -= (cased == _CLOSING) & outside
        reached = np.cumsum(steps) + level
        if int(reached.max()) > levels:
            return True
        level = int(reached[-1])
    return False


def _cut_pieces(
    text: bytes | bytearray | memoryview,
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.bool_]]]:
    """Pieces of JSON, and which of their characters are outside texts."""
    parity = 0
    for written in _read_pieces(memoryview(text)):
        piece = np.frombuffer(_drop_escapes(written), np.uint8)
        # The parity of the quotes before a character tells; a sum that wraps keeps it.
        quotes = np.cumsum(piece == _QUOTE, dtype=np.uint8) + np.uint8(parity)
        yield piece, quotes & 1 == 0
        parity = int(quotes[-1]) & 1


def _read_pieces(text: memoryview) -> Iterator[bytes]:
    """Yield copies of pieces that end within no escape, so that never all is copied at once."""
    at = 0
    while piece := bytes(text[at : at + _PIECE]):
        backslashes = len(piece) - len(piece.rstrip(b"\\"))
        at += len(piece) + backslashes % 2
        yield piece + bytes(text[at - 1 : at]) if backslashes % 2 else piece


def _find_marks(chars: NDArray[np.uint8]) -> NDArray[np.bool_]:
    marks: NDArray[np.bool_] = (chars == _COMMA) | (chars | _CASE == _BRACE)
    return marks


def _drop_escapes(text: bytes) -> bytes:
    if b"\\" not in text:
        return text
    return text.replace(rb"\\", b"__").replace(rb"\"", b"__")
