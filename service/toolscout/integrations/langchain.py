"""Tool search as a middleware of LangChain agents.

    search = ToolSearchMiddleware(Selector("http://127.0.0.1:8080"), always_keep=["ask_user"])
    agent = create_agent(model, tools, middleware=[search])

Unlike a transport it works with every model of LangChain.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from toolscout.client import Reason, Selection, Selector
from toolscout.client.offer import Offer
from toolscout.common.lru import Lru
from toolscout.turns.config import SEARCH_TOOL_NAME
from toolscout.turns.local import is_asking
from toolscout.turns.providers.native import MARK, MAX_REFERENCE_CHARS, REFERENCE, loads_tools
from toolscout.turns.shown import DESCRIPTION, QUERY_SCHEMA, describe_search, write_result

MAX_MESSAGES = 10_000
"""Messages whose tools are remembered."""

MAX_CALLS = 1_000
"""Searches that wait for their answer."""

MAX_LISTS = 16
"""Lists of tools that are not read anew: of three hundred tools that takes 130 ms."""

_OPEN_CHOICES = (None, True, "auto", "any", "none", "required")
"""Choices that name no tool; one that is named has to stay."""


class ToolSearchMiddleware(AgentMiddleware):
    """Shows the model the tools that fit what the user says, and lets it search for the others.

    A Claude that loads tools itself gets all of them, and those that do not fit the first message
    are deferred: its prompt stays cached. For any other model, what fits a later message or was
    found by a search stands behind the tools before it.

    Args:
        selector: asks the service. Without an answer the model sees every tool.
        top_k: most tools that fit, and that a search finds; an agent with no more searches nothing.
        always_keep: names that are visible from the start.
    """

    def __init__(
        self, selector: Selector, *, top_k: int = 5, always_keep: Collection[str] = ()
    ) -> None:
        super().__init__()
        self._selector = selector
        self._top_k = top_k
        self._always_keep = frozenset(always_keep)
        self._fitting: Lru[tuple[str, bytes], Sequence[str]] = Lru(MAX_MESSAGES)
        self._searched: Lru[str, Offer] = Lru(MAX_CALLS)
        self._offers: Lru[tuple[int, ...], Offer] = Lru(MAX_LISTS)
        about = {"name": SEARCH_TOOL_NAME, "description": DESCRIPTION}
        self.tools = [StructuredTool(**about, args_schema=QUERY_SCHEMA, func=lambda **_: "")]

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the model with the search, and with fewer tools or with deferred ones."""
        deferred, offer = self._deferred(request)
        return self._noted(handler(deferred), offer)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Do the same without blocking the event loop."""
        deferred, offer = await asyncio.to_thread(self._deferred, request)
        return self._noted(await handler(deferred), offer)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Answer a search; run any other call."""
        is_search = request.tool_call["name"] == SEARCH_TOOL_NAME
        return self._answered(request) if is_search else handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Do the same without blocking the event loop."""
        if request.tool_call["name"] == SEARCH_TOOL_NAME:
            return await asyncio.to_thread(self._answered, request)
        return await handler(request)

    def _noted(self, answer: Any, offer: Offer) -> Any:
        """Remember what each search may find: other middlewares may have withheld some tools."""
        for message in getattr(answer, "result", [answer]):
            for call in getattr(message, "tool_calls", ()):
                if call["name"] == SEARCH_TOOL_NAME:
                    self._searched.put(call["id"], offer)
        return answer

    def _offer(self, tools: Iterable[Any]) -> Offer:
        """Return what a list offers beside the search; the same for the same tools."""
        others = [tool for tool in tools if getattr(tool, "name", None) != SEARCH_TOOL_NAME]
        key = tuple(map(id, others))  # an offer that is kept keeps its tools
        if (offer := self._offers.get(key)) is None:
            self._offers.put(key, offer := Offer(others))
        return offer

    def _deferred(self, request: Any) -> tuple[Any, Offer]:
        offer = self._offer(request.tools)
        choice = request.tool_choice
        choice = choice.get("type") if isinstance(choice, dict) else choice
        if len(offer.names) <= self._top_k or choice not in _OPEN_CHOICES:
            return request.override(tools=[*offer.everything]), offer
        ending = offer.endings(choice in (True, "any", "required"))
        users = [message for message in request.messages if message.type == "human"]
        first = {*self._fitting_to(users[:1], offer), *self._always_keep, *ending}
        later = {name: tool for name, tool in offer.by_name.items() if name not in first}
        about = offer.once("description", lambda: describe_search(offer.names))
        search = self.tools[0].model_copy(update={"description": about})
        hidden = {*map(id, later.values())}
        is_claude = type(request.model).__name__ == "ChatAnthropic"
        if is_claude and loads_tools("anthropic", request.model.model):
            messages = [_make_reference(message, later) for message in request.messages]
            tools = [_mark(one) if id(one) in hidden else one for one in offer.everything]
            return request.override(tools=[search, *tools], messages=messages), offer
        shown = [tool for tool in offer.everything if id(tool) not in hidden]
        fitting = dict.fromkeys(self._fitting_to(request.messages, offer))
        brought = [later[name] for name in fitting if name in later]
        return request.override(tools=[search, *shown, *brought]), offer

    def _fitting_to(self, messages: Sequence[Any], offer: Offer) -> Iterator[str]:
        """Yield what fits the messages of the user, and what searches between them have found."""
        for message in messages:
            yield from _list_found(message)
            if message.type != "human" or not is_asking(message.text):
                continue
            key = message.text, offer.digest()
            if (names := self._fitting.get(key)) is None:
                selection, names = self._find(message.text, offer)
                if not selection.fell_open or not names:  # after an outage it is asked again
                    self._fitting.put(key, names)
            yield from names

    def _answered(self, request: Any) -> ToolMessage:
        call = request.tool_call
        # A run that goes on in another process has only the tools of the agent.
        offer = self._searched.get(call["id"]) or self._offer(request.runtime.tools)
        selection, names = self._find(str(call["args"].get("query") or ""), offer)
        text = write_result(selection, names, len(names), offer)
        return ToolMessage(text, name=call["name"], tool_call_id=call["id"], artifact=[*names])

    def _find(self, query: str, offer: Any) -> tuple[Selection[Any], Sequence[str]]:
        """Ask, and say what to show: nothing where nothing fits, and without an answer all."""
        pins = self._always_keep
        searched = offer.once("searched", lambda: offer.beside(pins))
        selection: Selection[Any] = self._selector.select(query, searched, self._top_k, pins)
        if selection.reason in (Reason.EMPTY_SELECTION, Reason.EMPTY_QUERY):
            return selection, ()
        return selection, offer.names if selection.fell_open else selection.names


def _list_found(message: Any) -> Sequence[str]:
    """Return the names that a search has found, if a message is the result of one."""
    is_result = message.type == "tool" and message.name == SEARCH_TOOL_NAME
    return message.artifact or () if is_result else ()


def _make_reference(message: Any, deferred: Collection[str]) -> Any:
    """Return the result of a search as one that loads the deferred tools it has found."""
    names = [name for name in _list_found(message) if name in deferred]
    loaded = [{"type": REFERENCE, "tool_name": n} for n in names if len(n) <= MAX_REFERENCE_CHARS]
    return message.model_copy(update={"content": loaded}) if loaded else message


def _mark(tool: Any) -> Any:
    """Return a tool as one that is loaded later, if a reference may have its name."""
    if not isinstance(tool, BaseTool) or len(tool.name) > MAX_REFERENCE_CHARS:
        return tool
    return tool.model_copy(update={"extras": {**(tool.extras or {}), MARK: True}})
