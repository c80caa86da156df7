"""Patterns as regular expressions, on RE2, with bounds on their cost.

RE2 is linear in the text, but not cheap for every pattern: its fast automaton (1 to 3 ns per byte)
is replaced by a slow one if a pattern has too many states, and that takes 3 to 7 ns per byte *and
instruction of the program*. Counters, alternatives and the program are bounded when a pattern is
compiled.
"""

import re

import re2

MAX_PROGRAM_BYTES = 1 << 20
"""Memory of one compiled pattern; larger ones are refused and read as words."""

MAX_REPETITIONS = 100
"""The largest count in a pattern, as in `x{100}`; RE2 writes out each repetition."""

MAX_ALTERNATIVES = 128
"""Alternatives of one pattern. 128 classes of Unicode letters compile in 20 to 30 ms, 1,300 in 160
to 320 ms."""

MAX_PROGRAM = 4_000
"""Instructions of a compiled pattern. A class of Unicode letters has 1,200, `create|delete` 16."""

_OPTIONS = re2.Options()
_OPTIONS.case_sensitive = False
_OPTIONS.max_mem = MAX_PROGRAM_BYTES
_OPTIONS.log_errors = False
_OPTIONS.never_nl = True  # a match never spans the lines of two tools
_OPTIONS.never_capture = True

_SPECIAL = (".*", ".+", "|", "[", "\\", "$", "^")
_LOOKS_LIKE_REGEX = re.compile(
    r"(?<!\\)(?:"
    r"\.[*+]"  # anything, repeatedly
    r"|[\w)]\s*\|\s*[\w(]"  # alternatives
    r"|\[[^\[\]\s]+\]"  # a character class; without brackets inside, or `[[[…` takes a square
    r"|\\[wWbBdDsS]"  # class escapes
    r"|\$$"  # anchored at the end
    r")"
    r"|^\^"  # anchored at the start
)
_ESCAPES = re.compile(r"(?s)\\.")
_ANCHORS = {r"\A": "^", r"\z": "$", r"\Z": "$"}
"""Anchors of a whole text, by those of a line: each tool is a line of one text."""

_COUNTERS = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_SYNTAX = re.compile(r"\\[a-zA-Z](?:\{\w+\})?|\\.|\[[^\[\]]*\]|\(\?[a-zA-Z:<]*")


class TooCostly(Exception):  # noqa: N818 - an answer, not a failure
    """The pattern exceeds a bound, and is therefore not compiled or not matched."""


def compile_pattern(pattern: str) -> "re2._Regexp | None":
    """Compile a caller's pattern, case-insensitive; None when RE2 refuses it.

    Raises:
        TooCostly: it has too large a counter, too many alternatives or too long a program.
    """
    if pattern.count("|") >= MAX_ALTERNATIVES:
        raise TooCostly
    for least, most in _COUNTERS.findall(pattern):
        if max(len(least), len(most)) > len(str(MAX_REPETITIONS)):
            raise TooCostly
        if max(int(least), int(most or 0)) > MAX_REPETITIONS:
            raise TooCostly
    pattern = _ESCAPES.sub(lambda escape: _ANCHORS.get(escape[0], escape[0]), pattern)
    try:
        expression = re2.compile(b"(?m)" + pattern.encode(), _OPTIONS)
    except UnicodeEncodeError:
        return None
    except re2.error as error:
        if b"too large" in error.args[0]:
            raise TooCostly from None
        return None
    if expression.programsize > MAX_PROGRAM:
        raise TooCostly
    return expression


def is_like_regex(pattern: str) -> bool:
    """Whether a pattern is meant as a regular expression rather than as words.

    One of several lines is a text, perhaps with a table in it: no match spans lines.
    """
    # Nearly all patterns are prose, which these checks recognise at a tenth of the cost.
    has_special = any(map(pattern.__contains__, _SPECIAL))
    return has_special and "\n" not in pattern and bool(_LOOKS_LIKE_REGEX.search(pattern))


def find_literal_words(pattern: str) -> str:
    """Return the literal words of a pattern, for ordering its matches."""
    return _SYNTAX.sub(" ", pattern)
