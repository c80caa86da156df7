"""Search of a fastmcp server's tools by the service.

    server.add_transform(ToolscoutSearchTransform(AsyncSelector("http://127.0.0.1:8080")))

Hosts see `search_tools` and `call_tool`, and any tools that are `always_visible`.
"""

from collections.abc import Sequence
from typing import Any

from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import Tool

from toolscout.client import AsyncSelector, Reason


class ToolscoutSearchTransform(BM25SearchTransform):
    """Answers `search_tools` with the service's choice, or fastmcp's own if there is none.

    Args:
        selector: asks the service.
        max_results: the tools of one search at most.
        options: those of `BM25SearchTransform`, such as `always_visible`.
    """

    def __init__(self, selector: AsyncSelector, *, max_results: int = 5, **options: Any) -> None:
        super().__init__(max_results=max_results, **options)
        self._selector = selector
        self._top_k = max_results

    async def _search(self, tools: Sequence[Tool], query: str) -> Sequence[Tool]:
        selection = await self._selector.select(query, tools, self._top_k)
        if selection.fell_open and selection.reason is Reason.EMPTY_SELECTION:
            return []  # the model can search in other words
        if selection.fell_open or selection.rollout is not None:
            own: Sequence[Tool] = await super()._search(tools, query)
            return own
        return selection.tools
