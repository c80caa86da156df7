"""Tool search of pydantic-ai agents, answered by the service.

    strategy = search_strategy(AsyncSelector("http://127.0.0.1:8080", fallback="relevance"))
    agent = Agent(model, tools=tools, capabilities=[ToolSearch(strategy)])

pydantic-ai defers the tools that have `defer_loading=True`, in the provider's own form where there
is one, and asks the strategy when the model searches.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, zip_longest
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition

from toolscout.client import AsyncSelector, Reason

Strategy = Callable[
    [RunContext[Any], Sequence[str], Sequence[ToolDefinition]], Awaitable[Sequence[str]]
]


def search_strategy(selector: AsyncSelector, *, top_k: int = 5) -> Strategy:
    """Make a strategy for `ToolSearch`.

    Args:
        selector: asks the service. Without a usable answer it brings all tools, or with
            `fallback="relevance"` those whose words are nearest to the query.
        top_k: most tools to find for each query of a search.
    """

    async def search(
        _: RunContext[Any], queries: Sequence[str], tools: Sequence[ToolDefinition]
    ) -> Sequence[str]:
        async def find(query: str) -> list[str]:
            selection = await selector.select(query, tools, top_k)
            # The model reads that nothing was found, and can search in other words.
            nothing_fits = selection.fell_open and selection.reason is Reason.EMPTY_SELECTION
            return [] if nothing_fits else selection.names

        of_queries = await asyncio.gather(*map(find, queries))
        best_first = chain.from_iterable(zip_longest(*of_queries))
        return [name for name in dict.fromkeys(best_first) if name is not None]

    return search
