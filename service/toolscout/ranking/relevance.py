"""The relevance filter: which tools stay in front of a model, by shared words alone.

Scores and cut are those of the proxy that this service is called by; the client filters with this
very module, so it needs no catalogue and nothing but the standard library. One thing is better than
there: a name counts where it is a word of the query, so that `add` is not found in "address".
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

EXPANDED, KEPT, RECENT, NAMED, WORD = 1_000, 100, 100, 50, 10
"""What it is worth to be expanded, always kept, used lately, named in the query, and to share a
word with it (each time the query says it)."""

MIN_TOOLS, MAX_TOOLS, TARGET_RATIO = 5, 25, 0.8

MIN_WORD = 3
_NO_WORD = re.compile(r"[^a-z0-9]+")
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


def keep_relevant(
    tools: Sequence[Candidate],
    query: str,
    *,
    min_tools: int = MIN_TOOLS,
    max_tools: int = MAX_TOOLS,
    target_ratio: float = TARGET_RATIO,
    always_keep: Collection[str] = (),
    recent: Collection[str] = (),
    expanded: Collection[str] = (),
) -> tuple[list[str], list[str]]:
    """Split tools into those that stay and those that are deferred.

    Tools that are expanded or always kept fill places first and stay beyond the number of them.
    Nothing is deferred when all would stay.

    Returns:
        The names kept and the names deferred, each by falling score; equals in the given order.
    """
    keep = keep_count(len(tools), min_tools, max_tools, target_ratio)
    said = query.lower()
    words = tokens(query)
    forced = {*always_keep, *expanded}
    pinned, used, shown = set(always_keep), set(recent), set(expanded)
    scored = [
        EXPANDED * (tool.name in shown)
        + KEPT * (tool.name in pinned)
        + RECENT * (tool.name in used)
        + relevance(tool, said, words)
        for tool in tools
    ]
    order = sorted(range(len(tools)), key=lambda place: -scored[place])
    if len(tools) <= min_tools or keep >= len(tools):
        return [tools[place].name for place in order], []
    kept: list[str] = []
    deferred: list[str] = []
    for place in order:
        name = tools[place].name
        (kept if name in forced or len(kept) < keep else deferred).append(name)
    return kept, deferred


def relevance(tool: Candidate, said: str, words: Sequence[str]) -> int:
    """What a tool has in common with a query, given in lower case and as its words."""
    text = set(tokens(f"{tool.name} {tool.description}"))
    named = is_named(said, tool.name.lower())
    return NAMED * named + WORD * sum(word in text for word in words)


def is_named(said: str, name: str) -> bool:
    """Whether a text holds a name as a word of its own; both in lower case."""
    place = said.find(name) if name else -1
    while place >= 0:
        end = place + len(name)
        if not (_in_word(said[place - 1 : place]) or _in_word(said[end : end + 1])):
            return True
        place = said.find(name, place + 1)
    return False


def _in_word(char: str) -> bool:
    """Whether a character would make a name part of a longer one; other scripts need no space."""
    return char.isascii() and (char.isalnum() or char == "_")


def tokens(text: str) -> list[str]:
    """Words of three letters or digits and more (ASCII), stop words left out, repeats kept."""
    found = _NO_WORD.split(text.lower())
    return [word for word in found if len(word) >= MIN_WORD and word not in _STOP_WORDS]
