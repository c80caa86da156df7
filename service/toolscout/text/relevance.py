"""The relevance filter: which tools a model is shown, by shared words alone.

Scores and cut are those of the proxy that calls this service; the client filters with the same
module, so it needs no catalog and only the standard library. Unlike in the proxy, a name counts
only as a word of the query, so that `add` is not found in "address".
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from math import inf
from time import monotonic
from typing import NamedTuple

from toolscout.text.passages import find_asking_part

EXPANDED_SCORE = 1_000
"""Score of a tool that is expanded."""

KEPT_SCORE = 100
"""Score of a tool that is always kept."""

RECENT_SCORE = 100
"""Score of a tool that was used recently."""

NAMED_SCORE = 50
"""Score of a tool that the query names."""

WORD_SCORE = 10
"""Score for each shared word of the query; repeats count."""

MIN_TOOLS = 5
MAX_TOOLS = 25
TARGET_RATIO = 0.8

MAX_TEXT_CHARS = 8_192
"""Characters of a description that count: more is documentation pasted into it."""

MIN_WORD = 3
_NO_WORD = re.compile(r"[^a-z0-9]+")
_UNIT = re.compile(r"[a-z0-9_]+")
_UNITS = re.compile(r"[a-z0-9_]+|(?s:.)")
_NAME_BEGINS = "\ufdd0"
"""Marks where a name may begin in a text: a noncharacter of Unicode, which texts do not use."""

_NAME_ENDS = "\ufdd1"
"""Marks where a name may end."""

_FUNCTION_WORDS = """
the and for are but not you all any can her was our out has had him his how its may did she too who
why with this that from they been have were will would could should might shall there their what
about which when into than them then some these those other your over also after where does being
each
"""
_STOP_WORDS = frozenset(_FUNCTION_WORDS.split())

Pause = Callable[[], None]
"""Called between the steps of long work; raising ends the work."""


def go_on() -> None:
    """Go on."""


class Candidate(NamedTuple):
    """The compared parts of a tool: its name and its description."""

    name: str
    description: str


def keep_count(
    total: int,
    min_tools: int = MIN_TOOLS,
    max_tools: int = MAX_TOOLS,
    target_ratio: float = TARGET_RATIO,
) -> int:
    """Return how many of `total` tools are kept: at least `min_tools`, even if there are fewer."""
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
    pause: Pause = go_on,
) -> tuple[list[str], list[str]]:
    """Split tools into those that are kept and those that are deferred.

    Expanded and always kept tools come first and
    are kept even if they exceed the number of places. `pause` is called after each tool; an
    exception of it ends the work.

    Returns:
        The names kept and the names deferred, each by falling score; equals in the given order.
    """
    keep = keep_count(len(tools), min_tools, max_tools, target_ratio)
    words_asked = QueryWords(query)
    forced = {*always_keep, *expanded}
    pinned = set(always_keep)
    used = set(recent)
    shown = set(expanded)
    scored = []
    for tool in tools:
        score = EXPANDED_SCORE * (tool.name in shown) + KEPT_SCORE * (tool.name in pinned)
        scored.append(
            score + RECENT_SCORE * (tool.name in used) + measure_relevance(tool, words_asked)
        )
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


def pick(
    query: str,
    tools: Iterable[Candidate],
    top_k: int,
    always_keep: Collection[str] = (),
    until: float = inf,
) -> list[str]:
    """Return the names of the `top_k` best tools, pins included.

    The list is empty if no tool shares a word with the query, or if the deadline (monotonic
    seconds) passes before all tools are scored.
    """
    words_asked = QueryWords(query)
    scores: dict[str, int] = {}
    for tool in tools:
        if monotonic() >= until:
            return []
        scores[tool.name] = measure_relevance(tool, words_asked)
    matches = sorted((name for name in scores if scores[name]), key=lambda name: -scores[name])
    if not matches:
        return []
    pins = [name for name in scores if name in always_keep][: top_k - 1]
    chosen = [name for name in matches if name not in pins][: top_k - len(pins)]
    ranked = [name for name in matches if name in chosen or name in pins]
    return ranked + [pin for pin in pins if pin not in ranked]


class QueryWords:
    """A query, prepared once for all tools, so that repeated words cost nothing more per tool."""

    __slots__ = ("_counts", "_marked", "_units", "_words")

    def __init__(self, query: str) -> None:
        """Take what a query asks."""
        query = find_asking_part(query)
        text = query.lower()
        self._counts = Counter(split_tokens(query))
        self._words = frozenset(self._counts)
        self._units = frozenset(_UNIT.findall(text))
        self._marked = _NAME_BEGINS + _mark_names(text) + _NAME_ENDS

    def shared(self, words: frozenset[str]) -> int:
        """Count the words of the query, with repeats, that a tool has too."""
        return sum(self._counts[word] for word in words & self._words)

    def names(self, name: str) -> bool:
        """Tell whether the query has a name as a separate word, in any case."""
        name = name.lower()
        if _UNIT.fullmatch(name):
            return name in self._units
        return bool(name) and _NAME_BEGINS + _mark_names(name) + _NAME_ENDS in self._marked


def _mark_names(text: str) -> str:
    """Mark where in a text a name may end and where one may begin.

    Neither is possible next to a letter, digit or underscore outside the name. With the marks, one
    search finds a name without a check of each place where its letters occur.
    """
    units = _UNITS.findall(text)
    parts = units[:1]
    for before, unit in pairwise(units):
        parts.append("" if _UNIT.match(unit) else _NAME_ENDS)
        parts.append("" if _UNIT.match(before) else _NAME_BEGINS)
        parts.append(unit)
    return "".join(parts)


def measure_relevance(tool: Candidate, query: QueryWords) -> int:
    """Return the score of a tool for a query."""
    words = frozenset(split_tokens(f"{tool.name} {tool.description[:MAX_TEXT_CHARS]}"))
    return NAMED_SCORE * query.names(tool.name) + WORD_SCORE * query.shared(words)


def split_tokens(text: str) -> list[str]:
    """Words of three letters or digits and more (ASCII), stop words left out, repeats kept."""
    parts = _NO_WORD.split(text.lower())
    return [word for word in parts if len(word) >= MIN_WORD and word not in _STOP_WORDS]
