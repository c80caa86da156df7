"""The text of a catalog in lines, and the search for regular expressions in them.

All tools lie in one buffer, a line each, and one search runs from line to line: stretches without a
match are skipped at the speed of RE2, not of a Python loop. The work of a scan is counted as
instructions of the program times bytes. The text is scanned in slices whose work is bounded, and
between two slices the deadline is checked. RE2 releases the interpreter lock while it matches, so a
long scan in a thread holds nobody up.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from time import perf_counter

import msgspec
import numpy as np
import re2

from toolscout.text.regex import TooCostly, compile_pattern

SLICE_WORK = 2_000_000
"""Instructions times bytes that are scanned between two looks at the deadline: 6 to 14 ms at the
slowest, 128 KiB of text for an ordinary pattern."""

INLINE_WORK = 4_000_000
"""Work up to which a pattern is matched where it is asked for; more belongs into a thread."""

LINE_WORK = 40_000_000
"""Work of the longest line up to which a pattern is tried at all: 0.1 to 0.3 s at the slowest."""

LIBRARY_SCAN_S = 1.0
"""Seconds that a scan may take where the caller sets no deadline."""

OFFSET_BYTES = 16
"""About what the place of a line takes."""

_NEWLINE = b"\n"[0]

NO_HIT = "no regex match"
INVALID = "not a valid regular expression, read as words"
TOO_COSTLY = "regular expression too costly, read as words"


class Scan(msgspec.Struct, frozen=True):
    """What a pattern matched: the tools in order, or None and the reason."""

    rows: list[int] | None
    note: str | None = None
    nbytes: int = 0
    """Bytes that were scanned."""
    seconds: float = 0.0

    @property
    def too_costly(self) -> bool:
        """Whether the pattern was given up for its cost."""
        return self.note == TOO_COSTLY


class TextLines:
    """The searchable text of a catalog: per tool a line of everything, and one of its name."""

    __slots__ = ("_joined", "_lines", "longest", "nbytes", "size")

    def __init__(self, tools: Iterable[tuple[bytes, bytes]]) -> None:
        """Take the two lines of each tool, made by `line`, in order."""
        self._lines = [line for pair in tools for line in pair]
        self._joined: tuple[bytes, list[int]] | None = None
        sizes = list(map(len, self._lines))
        self.longest = max(sizes, default=0)
        """Bytes of the longest line."""
        self.size = sum(sizes)
        """Bytes of all lines."""
        self.nbytes = self.size + OFFSET_BYTES * len(self._lines)
        """Bytes of the buffer and its offsets."""

    def estimate_work(self, expression: "re2._Regexp") -> int:
        """Return the most a scan of all lines can cost, in instructions times bytes."""
        return int(expression.programsize) * self.size

    def matching(
        self, expression: "re2._Regexp", is_late: Callable[[], bool] = lambda: False
    ) -> tuple[list[int], int]:
        """Return the tools with a match in either line, in order, and the bytes that were scanned.

        `is_late` is asked after each slice; fewer bytes than there are were scanned where it said
        yes.
        """
        buffer, starts = self._joined or self.prepare()
        room = SLICE_WORK // max(expression.programsize, 1)
        tools: list[int] = []
        line = 0
        count = len(starts)
        while line < count:
            beyond = max(bisect_right(starts, starts[line] + room, line) - 1, line + 1)
            # Without the last newline, behind which an empty line would begin.
            end = (starts[beyond] if beyond < count else len(buffer)) - 1
            while line < beyond:
                match = expression.search(buffer, starts[line], end)
                if match is None:
                    break
                tool = (bisect_right(starts, match.start()) - 1) // 2
                tools.append(tool)
                line = 2 * tool + 2
            line = max(line, beyond)
            if line < count and is_late():
                return tools, starts[line]
        return tools, len(buffer)

    def with_changes(
        self, gone: Sequence[int], before: Sequence[int], tools: Sequence[tuple[bytes, bytes]]
    ) -> "TextLines":
        """Return the text of the same tools but for a few.

        Args:
            gone: the rows of those that are left out, in order.
            before: the rows before which new ones stand, in order.
            tools: the lines of these.
        """
        buffer, starts = self._joined or self.prepare()
        bounds = [*starts[::2], len(buffer)]
        added: dict[int, list[bytes]] = {}
        for row, pair in zip(before, tools, strict=True):
            added.setdefault(row, []).extend(pair)
        pieces: list[bytes] = []
        end = 0
        for row in sorted({*gone, *added}):
            pieces += (buffer[end : bounds[row]], *added.get(row, ()))
            end = bounds[row + 1 if row in gone else row]
        text = b"".join((*pieces, buffer[end:]))
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE) + 1
        made = TextLines(())
        made._joined = (text, [0, *ends[:-1].tolist()][: len(ends)])
        made.size = len(text)
        made.longest = int(np.diff(ends, prepend=0).max(initial=0))
        made.nbytes = made.size + OFFSET_BYTES * len(ends)
        return made

    def prepare(self) -> tuple[bytes, list[int]]:
        """Join all lines to one buffer, unless they are; also says where each begins."""
        # Read first: a thread beside this one drops the lines once it has joined them.
        lines = self._lines
        joined = self._joined
        if joined is None:
            starts = list(accumulate(map(len, lines), initial=0))[:-1]
            joined = self._joined = (b"".join(lines), starts)
            self._lines = []
        return joined


def write_line(text: str) -> bytes:
    """Return a text as one line of a buffer."""
    if not text.isprintable() or "  " in text:  # printable is no blank but the plain one
        text = " ".join(text.split())
    return text.strip().encode("utf-8", "replace") + b"\n"


def compile_or_explain(pattern: str) -> "re2._Regexp | Scan":
    """Return a compiled pattern, or what its scan comes to if it cannot be one."""
    try:
        expression = compile_pattern(pattern)
    except TooCostly:
        return Scan(None, TOO_COSTLY)
    return Scan(None, INVALID) if expression is None else expression


def scan(
    pattern: str,
    lines: TextLines,
    deadline: float | None = None,
    expression: "re2._Regexp | None" = None,
) -> Scan:
    """Match a pattern against all tools, until a time of `perf_counter`.

    `expression` is the compiled pattern, where that is at hand. Without a deadline the scan ends
    after `LIBRARY_SCAN_S`.
    """
    began = perf_counter()
    until = began + LIBRARY_SCAN_S if deadline is None else deadline
    if expression is None:
        made = compile_or_explain(pattern)
        if isinstance(made, Scan):
            return made
        expression = made
    if began > until or lines.longest * expression.programsize > LINE_WORK:
        return Scan(None, TOO_COSTLY)
    rows, nbytes = lines.matching(expression, lambda: perf_counter() > until)
    spent = perf_counter() - began
    if nbytes < lines.size:
        return Scan(None, TOO_COSTLY, nbytes, spent)
    return Scan(rows or None, None if rows else NO_HIT, nbytes, spent)
