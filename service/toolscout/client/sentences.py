"""The first sentence of a description, for lists that a model reads."""

import re

MAX_CHARS = 200

_END = re.compile(r"[.!?](?=\s|$)|\n\s*\n|[。！？]")
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|no|fig)|\b[A-Za-z])\.$", re.IGNORECASE
)


def brief(text: str) -> str:
    """The first sentence on one line, cut after 200 characters; abbreviations do not end one."""
    text = text.strip()
    for end in _END.finditer(text):
        head = text[: end.end()]
        if end.group().strip() != "." or not _NO_END.search(head):
            text = head
            break
    line = " ".join(text.split())
    return line if len(line) <= MAX_CHARS else line[:MAX_CHARS] + "..."
