"""Caller patterns as regular expressions: RE2 only, so matching time is linear in the text.

All tools of a catalogue lie in one buffer, a line each, and one search runs from line to line:
stretches without a match are skipped at the speed of RE2, not of a Python loop.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

import re2

MAX_PROGRAM_BYTES = 1 << 20
"""Memory RE2 may spend on one pattern; larger ones are refused and read as words."""

_OPTIONS = re2.Options()
_OPTIONS.case_sensitive = False
_OPTIONS.max_mem = MAX_PROGRAM_BYTES
_OPTIONS.log_errors = False
_OPTIONS.never_nl = True  # a match never runs from one tool's line into the next
_OPTIONS.never_capture = True

_SPECIAL = frozenset(".|[\\$^")
_LOOKS_LIKE_REGEX = re.compile(
    r"(?<!\\)(?:"
    r"\.[*+]"  # anything, repeatedly
    r"|[\w)]\s*\|\s*[\w(]"  # alternatives
    r"|\[[^\]\s]+\]"  # a character class
    r"|\\[wWbBdDsS]"  # class escapes
    r"|\$$"  # anchored at the end
    r")"
    r"|^\^"  # anchored at the start
)
_SYNTAX = re.compile(r"\\[a-zA-Z](?:\{\w+\})?|\\.|\[[^\]]*\]|\(\?[a-zA-Z:<]*")


class TextLines:
    """The searchable text of a catalogue: per tool a line of everything, and one of its name."""

    __slots__ = ("_joined", "_lines", "nbytes")

    def __init__(self, tools: Iterable[tuple[bytes, bytes]]) -> None:
        """Take the two lines of each tool, made by `line`, in order."""
        self._lines = [line for pair in tools for line in pair]
        self._joined: tuple[bytes, list[int]] | None = None
        self.nbytes = sum(map(len, self._lines)) + 16 * len(self._lines)
        """Bytes of the buffer and its offsets."""

    def matching(self, expression: "re2._Regexp") -> list[int]:
        """The tools with a match in either line, in order."""
        buffer, starts = self._joined or self.prepare()
        found: list[int] = []
        line, count = 0, len(starts)
        while line < count:
            match = expression.search(buffer, starts[line])
            if match is None:
                break
            tool = (bisect_right(starts, match.start()) - 1) // 2
            found.append(tool)
            line = 2 * tool + 2
        return found

    def prepare(self) -> tuple[bytes, list[int]]:
        """Join all lines to one buffer, unless they are; also says where each begins."""
        # Read first: a thread beside this one drops the lines once it has joined them.
        lines, joined = self._lines, self._joined
        if joined is None:
            starts = list(accumulate(map(len, lines), initial=0))[:-1]
            joined = self._joined = (b"".join(lines), starts)
            self._lines = []
        return joined


def line(text: str) -> bytes:
    """A text as one line of a buffer."""
    return " ".join(text.split()).encode("utf-8", "replace") + b"\n"


def compile_pattern(pattern: str) -> "re2._Regexp | None":
    """Compile a caller's pattern, case-insensitive; None when RE2 refuses it."""
    try:
        return re2.compile(b"(?m)" + pattern.encode(), _OPTIONS)
    except (re2.error, UnicodeEncodeError):
        return None


def looks_like_regex(pattern: str) -> bool:
    """Whether a pattern is meant as a regular expression rather than as words."""
    # Nearly all patterns are prose, and a set tells so at a tenth of the cost.
    return not _SPECIAL.isdisjoint(pattern) and bool(_LOOKS_LIKE_REGEX.search(pattern))


def literal_words(pattern: str) -> str:
    """The words a pattern spells out, for ordering what it matched."""
    return _SYNTAX.sub(" ", pattern)
