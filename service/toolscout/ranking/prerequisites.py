"""Add tools that find what the best ones require: `find_customer` for `create_invoice`."""

import re
from collections.abc import Iterator, Sequence

from toolscout.ranking.ask import Ranking
from toolscout.text.tokens import analyse_word

DEPTH = 3
"""Number of best tools whose requirements count."""

MIN_SCORE_SHARE = 0.7
"""Share of the best score that such a tool needs."""

PLACES_PER_ADDED = 3
"""At most one place in this many is given to an added tool."""

_IDENTIFIER = re.compile(r"(?=[\w-]*\d)[\w-]{3,}")
"""A possible identifier, if its noun is close before it."""

_WORDS = re.compile(r"[\w-]+")
_CLOSE = 4
"""Maximum number of words between a noun and its identifier: `invoice with the number A-17`."""


def add_finders(ranking: Ranking) -> tuple[list[int], dict[int, int]]:
    """Insert the required tools into a ranking, each behind at least two others.

    Returns:
        The rows in order, and for each added one the row that requires it.
    """
    ranked = ranking.ranked
    brought: dict[int, int] = {}
    for row, finders in _find_finders(ranking):
        best = max(finders, key=ranking.scores.__getitem__)
        if best not in ranked[: PLACES_PER_ADDED - 1]:
            brought.setdefault(best, row)
    if not brought:
        return ranked, brought
    rest = [row for row in ranked if row not in brought]
    waiting = list(brought)
    placed: list[int] = []
    while rest or waiting:
        is_turn = waiting and len(placed) % PLACES_PER_ADDED == PLACES_PER_ADDED - 1
        placed.append(waiting.pop(0) if is_turn or not rest else rest.pop(0))
    return placed, brought


def _find_finders(ranking: Ranking) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield rows that require an identifier missing in the query, with rows that may find it."""
    ranked = ranking.ranked
    scores = ranking.scores
    allowed = ranking.allowed
    identified: set[str] | None = None
    for row in ranked[:DEPTH]:
        if scores[row] < MIN_SCORE_SHARE * scores[ranked[0]]:
            return
        for noun, rows in ranking.source.providers(row):
            identified = (
                _find_identified_nouns(ranking.query.text) if identified is None else identified
            )
            finders = rows if allowed is None else [other for other in rows if allowed[other]]
            if finders and noun not in identified:
                yield row, finders


def _find_identified_nouns(text: str) -> set[str]:
    """Return the nouns, as terms, with an identifier in the query: `order A-17`, `user id 42`."""
    nouns: set[str] = set()
    terms = [(word, analyse_word(word)[-1]) for word in _WORDS.findall(text)]
    for place, (word, _) in enumerate(terms):
        if _IDENTIFIER.fullmatch(word):
            nouns.update(term for _, term in terms[max(0, place - _CLOSE) : place])
    return nouns
