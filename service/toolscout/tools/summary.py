"""Summarise a tool by the first sentence of its description, in one line."""

import re
import unicodedata

SUMMARY_CHARS = 200
"""Characters of a summary; a longer sentence is cut, with an ellipsis."""

CUT = "..."

_PARAGRAPH = re.compile(r"\n\s*\n")
_END = re.compile(r"[.!?](?=\s|$)|[。！？]")
_NEVER_ENDS = frozenset(("e.g", "i.e", "vs", "cf", "incl", "approx", "fig", "dr", "mr", "ms", "st"))
_MAY_END = frozenset(("etc", "no", "resp", "inc", "ltd"))
"""Abbreviations that end a sentence only before a capital letter."""


def first_sentence(text: str, limit: int = SUMMARY_CHARS) -> str:
    """Return the first sentence of a text on one line, cut after `limit` characters.

    Abbreviations such as "e.g.", initials and version numbers end no sentence.
    """
    line = " ".join(_PARAGRAPH.split(text.strip(), maxsplit=1)[0].split())
    for match in _END.finditer(line, 0, limit):
        if not _is_abbreviation(line, match.start()):
            return line[: match.end()]
    if len(line) <= limit:
        return line
    end = limit
    while end and (unicodedata.combining(line[end]) or line[end] in "\u200d\ufe0f"):
        end -= 1
    return line[:end] + CUT


def _is_abbreviation(line: str, stop: int) -> bool:
    """Whether the full stop at `stop` belongs to the word before it."""
    if line[stop] != ".":
        return False
    word = line[:stop].rpartition(" ")[2].lstrip("(\"'").lower()
    if word in _NEVER_ENDS:
        return True
    following = line[stop + 2 : stop + 3]
    if word in _MAY_END or (len(word) == 1 and word.isalpha()) or "." in word:
        return bool(following) and not following.isupper()
    return False
