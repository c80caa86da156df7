"""The relevance filter: which tools stay in front of a model, by shared words alone.

Scores and cut are those of the proxy that this service is called by; the client filters with this
very module, so it needs no catalog and nothing but the standard library. One thing is better than
there: a name counts where it is a word of the query, so that `add` is not found in "address".
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from toolscout.common.pauses import Pause, at_once

EXPANDED, KEPT, RECENT, NAMED, WORD = 1_000, 100, 100, 50, 10
"""What it is worth to be expanded, always kept, used lately, named in the query, and to share a
word with it (each time the query says it)."""

MIN_TOOLS, MAX_TOOLS, TARGET_RATIO = 5, 25, 0.8

MAX_QUERY_CHARS = 4_096
"""Characters of a query that count, unless a caller says otherwise."""

MAX_TEXT_CHARS = 8_192
"""Characters of a description that count: more is documentation pasted into it."""

MIN_WORD = 3
_NO_WORD = re.compile(r"[^a-z0-9]+")
_UNIT = re.compile(r"[a-z0-9_]+")
_UNITS = re.compile(r"[a-z0-9_]+|(?s:.)")
_BEGINS, _ENDS = "\ufdd0", "\ufdd1"
"""Where a name may begin or end in a text: noncharacters of Unicode, which texts do not use."""

_FUNCTION_WORDS = """
the and for are but not you all any can her was our out has had him his how its may did she too who
why with this that from they been have were will would could should might shall there their what
about which when into than them then some these those other your over also after where does being
each
"""
_STOP_WORDS = frozenset(_FUNCTION_WORDS.split())


class Candidate(NamedTuple):
    """A tool by what is compared: its name and its description."""

    name: str
    description: str


def keep_count(
    total: int,
    min_tools: int = MIN_TOOLS,
    max_tools: int = MAX_TOOLS,
    target_ratio: float = TARGET_RATIO,
) -> int:
    """How many of `total` tools stay: at least `min_tools`, even if there are not as many."""
    return max(min(int(total * target_ratio), max_tools), min_tools)


def keep_relevant(  # noqa: PLR0913  # the calling proxy's options
    tools: Sequence[Candidate],
    query: str,
    *,
    min_tools: int = MIN_TOOLS,
    max_tools: int = MAX_TOOLS,
    target_ratio: float = TARGET_RATIO,
    always_keep: Collection[str] = (),
    recent: Collection[str] = (),
    expanded: Collection[str] = (),
    max_query_chars: int = MAX_QUERY_CHARS,
    pause: Pause = at_once,
) -> tuple[list[str], list[str]]:
    """Split tools into those that stay and those that are deferred.

    Of the query the first `max_query_chars` count. Tools that are expanded or always kept fill
    places first and stay beyond the number of them. Nothing is deferred when all would stay.
    `pause` is called after each tool; what it raises ends the work.

    Returns:
        The names kept and the names deferred, each by falling score; equals in the given order.
    """
    keep = keep_count(len(tools), min_tools, max_tools, target_ratio)
    said = Said(query, max_query_chars)
    forced = {*always_keep, *expanded}
    pinned, used, shown = set(always_keep), set(recent), set(expanded)
    scored = []
    for tool in tools:
        score = EXPANDED * (tool.name in shown) + KEPT * (tool.name in pinned)
        scored.append(score + RECENT * (tool.name in used) + relevance(tool, said))
        pause()
    order = sorted(range(len(tools)), key=lambda place: -scored[place])
    if len(tools) <= min_tools or keep >= len(tools):
        return [tools[place].name for place in order], []
    kept: list[str] = []
    deferred: list[str] = []
    for place in order:
        name = tools[place].name
        (kept if name in forced or len(kept) < keep else deferred).append(name)
    return kept, deferred


class Said:
    """A query, prepared once for all tools: what a tool costs does not grow with its repeats."""

    __slots__ = ("_counts", "_marked", "_units", "_words")

    def __init__(self, query: str, most: int = MAX_QUERY_CHARS) -> None:
        """Take the first `most` characters of a query; the others say nothing."""
        query = query[:most]
        text = query.lower()
        self._counts = Counter(tokens(query))
        self._words = frozenset(self._counts)
        self._units = frozenset(_UNIT.findall(text))
        self._marked = _BEGINS + _marked(text) + _ENDS

    def shared(self, words: frozenset[str]) -> int:
        """Count how often the query says words that a tool has too."""
        return sum(self._counts[word] for word in words & self._words)

    def names(self, name: str) -> bool:
        """Tell whether the query holds a name as a word of its own; case does not count."""
        name = name.lower()
        if _UNIT.fullmatch(name):
            return name in self._units
        return bool(name) and _BEGINS + _marked(name) + _ENDS in self._marked


def _marked(text: str) -> str:
    """Mark between the units of a text where a name may end and where one may begin.

    Neither is possible next to a letter, digit or underscore outside the name. With the marks, one
    search finds a name without looking at each place where its letters occur.
    """
    units = _UNITS.findall(text)
    parts = units[:1]
    for before, unit in pairwise(units):
        parts.append("" if _UNIT.match(unit) else _ENDS)
        parts.append("" if _UNIT.match(before) else _BEGINS)
        parts.append(unit)
    return "".join(parts)


def relevance(tool: Candidate, said: Said) -> int:
    """What a tool has in common with a query."""
    words = frozenset(tokens(f"{tool.name} {tool.description[:MAX_TEXT_CHARS]}"))
    return NAMED * said.names(tool.name) + WORD * said.shared(words)


def tokens(text: str) -> list[str]:
    """Words of three letters or digits and more (ASCII), stop words left out, repeats kept."""
    found = _NO_WORD.split(text.lower())
    return [word for word in found if len(word) >= MIN_WORD and word not in _STOP_WORDS]
