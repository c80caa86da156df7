"""A pydantic-ai agent: python pydantic_ai_agent.py chat|responses|anthropic HOW QUESTION.

With `search-` before the interface the framework defers its tools and our strategy searches them.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterable
from typing import Any

import httpx2
from catalog import FUNCTIONS, finish
from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from toolscout.client import AsyncSelector
from toolscout.discovery import AsyncTransport
from toolscout.integrations.pydantic_ai import search_strategy

URL = os.environ["TOOLSCOUT_ENDPOINT"]


def model(interface: str, http: httpx2.AsyncClient | None) -> Any:
    if interface == "anthropic":
        provider = AnthropicProvider(api_key="none", http_client=http)
        return AnthropicModel("claude-sonnet-4-5", provider=provider)
    kind = OpenAIChatModel if interface == "chat" else OpenAIResponsesModel
    return kind("gpt-5.4", provider=OpenAIProvider(api_key="none", http_client=http))


async def read_all(_: Any, events: AsyncIterable[Any]) -> None:
    async for _ in events:
        pass


async def main(form: str, how: str, question: str) -> None:
    interface = form.removeprefix("search-")
    if form == interface:
        http = httpx2.AsyncClient(transport=AsyncTransport(URL))
        agent = Agent(model(interface, http), tools=FUNCTIONS)
    else:
        strategy = search_strategy(AsyncSelector(URL, fallback="relevance"), top_k=3)
        tools = [Tool(function, defer_loading=True) for function in FUNCTIONS]
        agent = Agent(model(interface, None), tools=tools, capabilities=[ToolSearch(strategy)])
    # `run_stream` would take the words before a call for the answer; a handler streams to the end.
    handler = read_all if how == "stream" else None
    finish((await agent.run(question, event_stream_handler=handler)).output)


asyncio.run(main(*sys.argv[1:]))
