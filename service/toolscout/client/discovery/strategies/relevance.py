"""Strategy `relevance`: score tools against the query here, without asking anyone.

    expanded +1000, always_keep +100, recently used +100, name in the query +50,
    each word of the query that the tool has +10 (repeats count again)

    keep = max(min(int(total · target_ratio), max_tools), min_tools)

Scores, counts and words are the proxy's, computed by the function that the service filters with.
One thing is better: a name counts where it is a word of the query, not where its letters happen to
stand inside another word.
"""

from collections.abc import Collection, Sequence
from math import inf
from time import monotonic
from typing import Any, NamedTuple

from toolscout.client.offer import Offer
from toolscout.text.relevance import (
    EXPANDED,
    KEPT,
    MAX_TOOLS,
    MIN_TOOLS,
    RECENT,
    TARGET_RATIO,
    Candidate,
    Said,
    keep_count,
    keep_relevant,
    relevance,
)
from toolscout.tools.shapes import texts


class Filtered(NamedTuple):
    """Names kept and names deferred, each in score order, equal scores in request order."""

    kept: Sequence[str]
    deferred: Sequence[str]


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
    forced = (
        EXPANDED * (name in expanded) + KEPT * (name in always_keep) + RECENT * (name in recent)
    )
    return forced + relevance(Candidate(name, description), Said(query))


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
    if total <= min_tools or keep_count(total, min_tools, max_tools, target_ratio) >= total:
        return Filtered(offer.names, ())
    kept, deferred = keep_relevant(
        _candidates(offer),
        query,
        min_tools=min_tools,
        max_tools=max_tools,
        target_ratio=target_ratio,
        always_keep=always_keep,
        recent=recent,
        expanded=expanded,
    )
    return Filtered(kept, deferred)


def pick(
    query: str,
    offer: Offer,
    top_k: int,
    always_keep: Collection[str] = (),
    until: float = inf,
) -> list[str]:
    """The `top_k` best tools by score, pins among them; empty when no word speaks for any.

    Empty too when the time (monotonic seconds) is up before all tools have their scores.
    """
    said = Said(query)
    scores: dict[str, int] = {}
    for name, tool in offer.by_name.items():
        if monotonic() >= until:
            return []
        scores[name] = relevance(Candidate(name, texts(tool)[1]), said)
    matches = sorted((name for name in scores if scores[name]), key=lambda name: -scores[name])
    if not matches:
        return []
    pins = [name for name in offer.names if name in always_keep][: top_k - 1]
    room = top_k - len(pins)
    found = [name for name in matches if name not in pins][:room]
    ranked = [name for name in matches if name in found or name in pins]
    return ranked + [pin for pin in pins if pin not in ranked]


def _candidates(offer: Offer) -> list[Candidate]:
    return [Candidate(name, texts(tool)[1]) for name, tool in offer.by_name.items()]
