"""An agent of the OpenAI Agents SDK: python agents_sdk.py line|chat|provider|model HOW QUESTION."""

import asyncio
import os
import sys

import httpx2
from agents import (
    Agent,
    OpenAIProvider,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
    set_default_openai_client,
)
from catalog import FUNCTIONS, finish
from openai import AsyncOpenAI

from toolscout.client import AsyncSelector
from toolscout.discovery import AsyncTransport
from toolscout.integrations.openai_agents import SelectingModel, SelectingProvider

URL = os.environ["TOOLSCOUT_ENDPOINT"]


async def main(form: str, how: str, question: str) -> None:
    model: object = "gpt-4.1" if form == "chat" else "gpt-5.4"
    client = AsyncOpenAI(http_client=httpx2.AsyncClient(transport=AsyncTransport(URL)))
    config = RunConfig()
    keep = {"top_k": 4, "always_keep": ["spin_7"]}
    if form == "line":
        set_default_openai_client(client)
    elif form == "chat":
        provider = OpenAIProvider(openai_client=client, use_responses=False)
        config = RunConfig(model_provider=provider)
    elif form == "provider":
        config = RunConfig(model_provider=SelectingProvider(AsyncSelector(URL), **keep))
    else:
        responses = OpenAIResponsesModel("gpt-5.4", AsyncOpenAI())
        model = SelectingModel(responses, AsyncSelector(URL), **keep)
    agent = Agent("mailer", model=model, tools=[function_tool(f) for f in FUNCTIONS])
    if how == "plain":
        result = await Runner.run(agent, question, run_config=config, max_turns=5)
    else:
        result = Runner.run_streamed(agent, question, run_config=config, max_turns=5)
        async for _ in result.stream_events():
            pass
    finish(result.final_output)


asyncio.run(main(*sys.argv[1:]))
