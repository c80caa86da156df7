"""Colour in a terminal, unless it is switched off."""

import os
from typing import TextIO

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"


def coloured(stream: TextIO) -> bool:
    """Whether a stream is a terminal with colour, and `NO_COLOR` is not set.

    An empty `NO_COLOR` counts as not set (https://no-color.org).
    """
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def painted(text: str, code: str, stream: TextIO) -> str:
    """Colour a text, if the stream shows colour."""
    return f"\x1b[{code}m{text}\x1b[0m" if coloured(stream) else text
