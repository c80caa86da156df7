"""A pydantic-ai agent whose deferred tools our strategy searches.

python pydantic_ai_agent.py chat|responses|anthropic HOW QUESTION
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterable
from typing import Any

from catalog import FUNCTIONS, finish
from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

from toolscout.client import AsyncSelector
from toolscout.integrations.pydantic_ai import search_strategy

MODELS = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel, "anthropic": AnthropicModel}


async def read_all(_: Any, events: AsyncIterable[Any]) -> None:
    async for _ in events:
        pass


async def main(interface: str, how: str, question: str) -> None:
    model = MODELS[interface]("claude-sonnet-4-5" if interface == "anthropic" else "gpt-5.4")
    selector = AsyncSelector(os.environ["TOOLSCOUT_ENDPOINT"], fallback="relevance")
    strategy = search_strategy(selector, top_k=3)
    tools = [Tool(function, defer_loading=True) for function in FUNCTIONS]
    agent = Agent(model, tools=tools, capabilities=[ToolSearch(strategy)])
    # `run_stream` would take the words before a call for the answer; a handler streams to the end.
    handler = read_all if how == "stream" else None
    finish((await agent.run(question, event_stream_handler=handler)).output)


asyncio.run(main(*sys.argv[1:]))
