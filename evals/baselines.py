"""Baselines of other people's making, each with its own tokeniser and defaults.

They get what a user would give them without tuning: name and description of each tool.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np

from evals.metrics import LONG
from evals.rankers import Answer, Search, by_scores, package, text_of
from toolscout.contract.tools import Tool

_WORDS = re.compile(r"[^\W_]+")


def rank_bm25(tools: Sequence[Tool], text: Callable[[Tool], str] = text_of) -> Search:
    """rank-bm25's Okapi over lower-cased words; it brings no tokeniser."""
    with package("rank-bm25"):
        from rank_bm25 import BM25Okapi

    index = BM25Okapi([words(text(tool)) or [""] for tool in tools])
    return by_scores(tools, lambda query: index.get_scores(words(query)))


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; an underscore ends one."""
    return _WORDS.findall(text.lower())


def bm25s_stemmed(tools: Sequence[Tool]) -> Search:
    """bm25s with its English stop words and the Snowball stemmer."""
    with package("bm25s"):
        import bm25s
        import Stemmer
    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: list[str]) -> list[list[str]]:
        found: list[list[str]] = bm25s.tokenize(
            # Its word pattern keeps underscores, and a name would be one word.
            [text.replace("_", " ") for text in texts],
            stopwords="en",
            stemmer=stemmer,
            return_ids=False,
            show_progress=False,
        )
        return found

    index = bm25s.BM25()
    index.index(tokens([text_of(tool) for tool in tools]), show_progress=False)

    def scores(query: str) -> Any:
        found = tokens([query])[0]
        # A query of stop words alone, or in another script, has no token, which bm25s refuses.
        return index.get_scores(found) if found else np.zeros(len(tools))

    return by_scores(tools, scores)


def chuk(tools: Sequence[Tool]) -> Search:
    """chuk-tool-processor's discovery engine: keywords, synonyms, fuzzy, domains."""
    with package("chuk-tool-processor"):
        from chuk_tool_processor.discovery import ToolSearchEngine
    engine: Any = ToolSearchEngine()
    engine.set_tools(
        [
            SimpleNamespace(
                name=tool.name,
                namespace="",
                description=tool.description or "",
                parameters=msgspec.json.decode(tool.definition) if bytes(tool.definition) else {},
            )
            for tool in tools
        ]
    )

    @lru_cache(maxsize=1)
    def ranked(query: str) -> list[str]:
        found = engine.search(query, limit=LONG, use_session_boost=False)
        return [result.tool.name for result in found]

    def search(query: str, top_k: int) -> Answer:
        return Answer(ranked(query)[:top_k])

    return search
