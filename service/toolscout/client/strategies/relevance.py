"""Strategy `relevance`: score tools against the query here, without asking anyone.

    expanded +1000, always_keep +100, recently used +100, name in the query +50,
    each word of the query that the tool has +10 (repeats count again)

    keep = max(min(int(total · target_ratio), max_tools), min_tools)

Scores, counts and words are the proxy's. One thing is better: a name counts where it is a word of
the query, not where its letters happen to stand inside another word.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from toolscout.client.strategies.tokens import contains_name, words
from toolscout.client.tools import Offer, texts

EXPANDED = 1_000
PINNED = 100
RECENT = 100
NAMED = 50
PER_WORD = 10

MIN_TOOLS = 5
MAX_TOOLS = 25
TARGET_RATIO = 0.8


@dataclass(frozen=True, slots=True)
class Filtered:
    """Names kept and names deferred, each in score order, equal scores in request order."""

    kept: tuple[str, ...]
    deferred: tuple[str, ...]


def score(
    query: str,
    name: str,
    description: str,
    *,
    always_keep: Collection[str] = (),
    recent: Collection[str] = (),
    expanded: Collection[str] = (),
) -> int:
    """How relevant one tool is to a query."""
    return _score(query, words(query), name, description, always_keep, recent, expanded)


def keep_count(
    total: int,
    min_tools: int = MIN_TOOLS,
    max_tools: int = MAX_TOOLS,
    target_ratio: float = TARGET_RATIO,
) -> int:
    """How many of `total` tools are kept; may exceed `total`, which means all."""
    return max(min(int(total * target_ratio), max_tools), min_tools)


def filter_tools(
    query: str,
    tools: Sequence[Any],
    *,
    min_tools: int = MIN_TOOLS,
    max_tools: int = MAX_TOOLS,
    target_ratio: float = TARGET_RATIO,
    always_keep: Collection[str] = (),
    recent: Collection[str] = (),
    expanded: Collection[str] = (),
) -> Filtered:
    """Split tools of any shape into kept and deferred.

    Nothing is deferred when there are no more than `min_tools`, or when as many would be kept as
    there are. Pinned and expanded tools count towards the cap but are kept beyond it.
    """
    offer = Offer(tools)
    total = len(offer.names)
    keep = keep_count(total, min_tools, max_tools, target_ratio)
    if total <= min_tools or keep >= total:
        return Filtered(offer.names, ())
    scores = _scores(query, offer, always_keep, recent, expanded)
    ranked = sorted(offer.names, key=lambda name: -scores[name])
    kept = [
        name
        for place, name in enumerate(ranked)
        if place < keep or name in always_keep or name in expanded
    ]
    inside = set(kept)
    return Filtered(tuple(kept), tuple(name for name in ranked if name not in inside))


def pick(query: str, offer: Offer, top_k: int, always_keep: Collection[str] = ()) -> list[str]:
    """The `top_k` best tools by score, pins among them; empty when no word speaks for any."""
    scores = _scores(query, offer, always_keep, (), ())
    ranked = sorted(offer.names, key=lambda name: -scores[name])
    matches = [name for name in ranked if scores[name] > (PINNED if name in always_keep else 0)]
    if not matches:
        return []
    pins = [name for name in ranked if name in always_keep][: top_k - 1]
    room = top_k - len(pins)
    kept = {*pins, *[name for name in matches if name not in pins][:room]}
    return [name for name in ranked if name in kept]


def _scores(
    query: str,
    offer: Offer,
    always_keep: Collection[str],
    recent: Collection[str],
    expanded: Collection[str],
) -> dict[str, int]:
    asked = words(query)
    return {
        name: _score(query, asked, name, texts(tool)[1], always_keep, recent, expanded)
        for name, tool in offer.by_name.items()
    }


def _score(
    query: str,
    asked: list[str],
    name: str,
    description: str,
    always_keep: Collection[str],
    recent: Collection[str],
    expanded: Collection[str],
) -> int:
    total = EXPANDED * (name in expanded) + PINNED * (name in always_keep)
    total += RECENT * (name in recent)
    if contains_name(query, name):
        total += NAMED
    has = set(words(f"{name} {description}"))
    return total + PER_WORD * sum(word in has for word in asked)
