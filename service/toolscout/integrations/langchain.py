"""Tool selection as a middleware of LangChain agents.

    selection = ToolSelectionMiddleware(Selector("http://127.0.0.1:8080"), always_keep=["ask_user"])
    agent = create_agent(model, tools, middleware=[selection])

Unlike a transport it works with every model of LangChain. The tools are chosen once for each
message of the user; the model cannot search for others.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from langchain.agents.middleware import AgentMiddleware

from toolscout.client import Selector
from toolscout.client.offer import Offer


class ToolSelectionMiddleware(AgentMiddleware):
    """Shows the model the tools that fit the last message of the user, or all if nobody can say.

    Args:
        selector: asks the service; its timeout is the most that a call of the model waits.
        top_k: most tools to show; an agent with no more is not asked about.
        always_keep: names that stay visible, within `top_k`. Tools that end a run, such as those
            that hand over to another agent, stay besides.
    """

    def __init__(
        self, selector: Selector, *, top_k: int = 10, always_keep: Collection[str] = ()
    ) -> None:
        super().__init__()
        self._selector = selector
        self._top_k = top_k
        self._always_keep = frozenset(always_keep)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the model with fewer tools."""
        return handler(self._narrowed(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Do the same without blocking the event loop."""
        return await handler(await asyncio.to_thread(self._narrowed, request))

    def _narrowed(self, request: Any) -> Any:
        if len(request.tools) <= self._top_k or _is_forced(request.tool_choice):
            return request
        question = next((m.text for m in reversed(request.messages) if m.type == "human"), "")
        selection = self._selector.select(question, request.tools, self._top_k, self._always_keep)
        offer = Offer(request.tools)
        names = offer.endings(request.tool_choice in ("any", "required"))
        ending = [offer.by_name[name] for name in names if name not in selection.names]
        return request.override(tools=[*selection.tools, *ending])


def _is_forced(tool_choice: Any) -> bool:
    """Whether a choice may name a tool, which then has to stay among those that are shown."""
    return tool_choice not in (None, "auto", "any", "none", "required")
