"""What an English request rules out: "do not send it, only save a draft" asks for no sending.

Of a clause after "don't", "without" and the like the verbs are left out, for what they are done to
is often named nowhere else. After "instead of" and "never mind" the whole clause is.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from toolscout import data
from toolscout.text.passages import load_asking_verbs
from toolscout.text.tokens import analyse_word, split_words

_CLAUSE_ENDS = r"[,.;:!?\n]|\b(?:but|just|only)\b|$"

_BEGINS = re.compile(r"(?:^|[,.;:!?\n—–-]|\b(?:and|but|or|so|please))\s*$", re.IGNORECASE)
"""What stands before an order."""

_BEFORE_CHARS = 16
"""Characters before a negator in which that is looked for."""

_WITH_NEGATORS = frozenset(("do", "i", "it", "must", "should", "we", "you"))
"""Words of grammar that stand before a negator, and in nearly every text."""

_WORD = re.compile(r"[^\W\d_]+")


def strip_negated(text: str) -> str:
    """Return a text without what it rules out; all of a text that says nothing else."""
    if not _load_rules().may_negate.search(text):
        return text
    kept = []
    end = 0
    for start, stop in _find_ruled_out(text):
        if start >= end:
            kept.append(text[end:start])
            end = stop
    rest = " ".join([*kept, text[end:]])
    return rest if _WORD.search(rest) else text


def _find_ruled_out(text: str) -> Iterator[tuple[int, int]]:
    """Yield what to leave out, in order, by where it begins and ends."""
    verbs = _load_verb_terms()
    rules = _load_rules()
    for clause in rules.clause.finditer(text):
        start, end = clause.span()
        negator = " ".join(clause[1].lower().split())
        before = text[max(0, start - _BEFORE_CHARS) : start]
        if negator in rules.orders and not _BEGINS.search(before):
            continue  # "I don't know how to send it" rules nothing out
        words = list(_WORD.finditer(text, clause.end(1), end))
        if negator in rules.whole:
            asking = (word.start() for word in words[1:] if word[0].lower() in load_asking_verbs())
            yield start, next(asking, end)
            continue
        yield start, clause.end(1)
        for word in words:
            if not verbs.isdisjoint(analyse_word(word[0])):
                yield word.span()


def load_negators() -> frozenset[str]:
    """Return words, lower case, of which one is in every text that rules something out."""
    table = data.load("clauses")["negations"]
    ways = (*table["of_clauses"], *table["orders"], *table["of_verbs"])
    return frozenset(
        next(word for word in split_words(way) if word not in _WITH_NEGATORS) for way in ways
    )


class _Rules(NamedTuple):
    may_negate: re.Pattern[str]
    clause: re.Pattern[str]
    whole: frozenset[str]
    orders: frozenset[str]


@cache
def _load_rules() -> _Rules:
    table = data.load("clauses")["negations"]
    whole = table["of_clauses"]
    orders = table["orders"]
    each = (re.escape(way).replace(r"\ ", r"\s+") for way in (*whole, *orders, *table["of_verbs"]))
    ways = "|".join(each)
    affirmed = "|".join(table["affirmed"])
    may_negate = re.compile(rf"\b(?:{ways})\b", re.IGNORECASE)
    clause = re.compile(rf"\b({ways})\b(?!\s+(?:{affirmed})\b).*?(?={_CLAUSE_ENDS})", re.IGNORECASE)
    return _Rules(may_negate, clause, frozenset(whole), frozenset(orders))


@cache
def _load_verb_terms() -> frozenset[str]:
    """Return the verbs that tools have and people use, as terms; no auxiliary is among them."""
    return frozenset(term for verb in load_asking_verbs() for term in analyse_word(verb))
