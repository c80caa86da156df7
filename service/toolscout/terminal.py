"""Colour in a terminal, unless it is switched off, and a parser of its arguments that helps."""

import argparse
import os
import sys
from difflib import get_close_matches
from typing import Any, NoReturn, TextIO

USAGE = 2
"""The exit status of wrong usage."""

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


class Parser(argparse.ArgumentParser):
    """Suggests the nearest flag for an unknown one."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, as the base class does; an unknown one is an error with a hint."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            known = parsed.flags
            wrong = next((word for word in unknown if word.startswith("-")), unknown[0])
            close = get_close_matches(wrong.partition("=")[0], known, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return parsed

    def error(self, message: str) -> NoReturn:
        """Exit with usage and message."""
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{painted('toolscout:', RED, sys.stderr)} {message}\n")


def positive(text: str) -> int:
    """Read a whole number from 1 up, as a type of an argument."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"at least 1, got {value}")
    return value
