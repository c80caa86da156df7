"""Anthropic's two hosted tool searches, rebuilt from what their documentation says.

They run inside its API and cannot be measured alone. Documented are: what is searched (name,
description, argument names and argument descriptions), Python's `re.search` with patterns of at
most 200 characters, questions in words for the BM25 variant, and three to five results. Not
documented are the parameters of BM25, the order of regex matches, and what pattern the model
writes. So these rows stand for the method, not for the product with a model in front of it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from evals.baselines import rank_bm25, words
from evals.board.peers import ranked, schema_of
from evals.rankers import Search
from toolscout.contract.tools import Tool

MOST_RESULTS = 5
MOST_PATTERN_CHARS = 200
STOP = frozenset(
    "a an and are as at be by can do for from get give have how i in is it me my of on or our"
    " please show that the this to us want was we what when where which who will with you".split()
)
"""Words that a model would leave out of a pattern."""


def searched(tool: Tool) -> str:
    """Return the text that the documentation says is searched."""
    return " ".join([tool.name, tool.description or "", *_arguments(schema_of(tool))])


def _arguments(schema: dict[str, Any]) -> Iterator[str]:
    for name, about in schema["properties"].items():
        yield name
        if isinstance(about, dict) and isinstance(about.get("description"), str):
            yield about["description"]


def regex(tools: Sequence[Tool]) -> Search:
    """Search with the pattern `(?i)word|word`; tools with most different words come first."""
    texts = [searched(tool).lower() for tool in tools]

    def rank(query: str, depth: int) -> list[str]:
        kept = [word for word in dict.fromkeys(words(query)) if word not in STOP and len(word) > 1]
        while len("|".join(kept)) + len("(?i)") > MOST_PATTERN_CHARS:
            kept.pop()
        # What each alternative finds by itself; `re` takes thirty times as long to say so.
        hits = [sum(word in text for word in kept) for text in texts]
        order = sorted((row for row, count in enumerate(hits) if count), key=lambda r: -hits[r])
        return [tools[row].name for row in order[:depth]]

    return ranked(rank, MOST_RESULTS)


def bm25(tools: Sequence[Tool]) -> Search:
    """Search in words, with rank-bm25's Okapi at its defaults."""
    search = rank_bm25(tools, searched)
    return lambda query, top_k: search(query, min(top_k, MOST_RESULTS))
