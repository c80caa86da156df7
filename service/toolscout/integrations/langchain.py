"""Tool selection as a middleware of LangChain agents.

    selection = ToolSelectionMiddleware(Selector("http://127.0.0.1:8080"), always_keep=["ask_user"])
    agent = create_agent(model, tools, middleware=[selection])

Unlike a transport it works with every model of LangChain. The tools are chosen for what the user
has said and the tools that were called; the model cannot search for others.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware

from toolscout.client import Selector
from toolscout.client.call import latest, sendable
from toolscout.client.offer import Offer


class ToolSelectionMiddleware(AgentMiddleware):
    """Shows the model the tools that fit the conversation, or all if nobody can say.

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
        # A choice of another kind may name a tool, which then has to stay.
        is_open = request.tool_choice in (None, "auto", "any", "none", "required")
        if len(request.tools) <= self._top_k or not is_open:
            return request
        messages = _asked(request.messages)
        question = next((m["content"] for m in reversed(messages) if "content" in m), "")
        selection = self._selector.select(
            question, request.tools, self._top_k, self._always_keep, fields={"messages": messages}
        )
        offer = Offer(request.tools)
        names = offer.endings(request.tool_choice in ("any", "required"))
        ending = [offer.by_name[name] for name in names if name not in selection.names]
        return request.override(tools=[*selection.tools, *ending])


def _asked(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Return what the user said and which tools were called, as a search reads both."""
    asked: list[dict[str, Any]] = []
    for message in messages:
        if message.type == "human" and message.text:
            asked.append({"role": "user", "content": sendable(message.text)})
        elif message.type == "ai":
            calls = [{"function": {"name": sendable(call["name"])}} for call in message.tool_calls]
            asked.append({"role": "assistant", "tool_calls": calls})
    return latest(asked)
