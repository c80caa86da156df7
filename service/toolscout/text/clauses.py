"""Split a request for several tools into clauses."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

from toolscout import data
from toolscout.text.tokens import is_cjk

MAX_CLAUSES = 6
"""Maximum number of clauses."""

MIN_WORDS = 3
"""Minimum words of a clause; shorter ones ("Rome and Paris") ask for nothing."""

MIN_UNSPACED = 4
"""Minimum characters of a clause in a script without spaces."""

_ENDS = (".", "!", "?", ";", ":")
_INNER_END = re.compile(r"[.!?;:]\s+\S")


def may_have_several(text: str) -> bool:
    """Whether a text can have more than one clause: a look at its words, which costs little."""
    if not text.isascii() or _INNER_END.search(text):
        return True
    return not _spaced_cuts().isdisjoint(text.lower().replace(",", " ").split())


def clauses(text: str) -> list[str]:
    """Split a text at the ends of sentences and at words such as "and" and "then"."""
    return list(islice(_clauses(text), MAX_CLAUSES))


def _clauses(text: str) -> Iterator[str]:
    cuts = _spaced_cuts()
    for part in (text,) if text.isascii() else _unspaced_cuts().split(text):
        clause: list[str] = []
        for word in part.split():
            is_cut = word.strip(",").lower() in cuts
            if not is_cut:
                clause.append(word)
            if is_cut or word.endswith(_ENDS):
                if _is_clause(clause):
                    yield " ".join(clause)
                clause = []
        if _is_clause(clause):
            yield " ".join(clause)


def _is_clause(found: list[str]) -> bool:
    if len(found) >= MIN_WORDS:
        return True
    letters = "".join(found)
    return len(letters) >= MIN_UNSPACED and not letters.isascii() and is_cjk(letters[0])


@cache
def _spaced_cuts() -> frozenset[str]:
    lists: dict[str, str] = data.load("connectives")["spaced"]
    return frozenset(word for words in lists.values() for word in words.split())


@cache
def _unspaced_cuts() -> re.Pattern[str]:
    lists: dict[str, str] = data.load("connectives")["unspaced"]
    words = {word for words in lists.values() for word in words.split()}
    return re.compile("|".join(["[。！？；]", *sorted(words, key=len, reverse=True)]))
