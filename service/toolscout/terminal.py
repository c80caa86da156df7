"""What a person at a terminal sees: colour, where it is wanted."""

import os
from typing import TextIO

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"


def coloured(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colour, and nobody asked for none.

    An empty `NO_COLOR` is none (https://no-color.org).
    """
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def painted(text: str, code: str, stream: TextIO) -> str:
    """A text in a colour, or as it is where the stream shows none."""
    return f"\x1b[{code}m{text}\x1b[0m" if coloured(stream) else text
