"""An agent of the OpenAI Agents SDK: python agents_sdk.py provider|model HOW QUESTION."""

import asyncio
import os
import sys

from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool
from catalog import FUNCTIONS, finish
from openai import AsyncOpenAI

from toolscout.client import AsyncSelector
from toolscout.integrations.openai_agents import SelectingModel, SelectingProvider


async def main(form: str, how: str, question: str) -> None:
    model: object = "gpt-5.4"
    config = RunConfig()
    selector = AsyncSelector(os.environ["TOOLSCOUT_ENDPOINT"])
    keep = {"top_k": 4, "always_keep": ["spin_7"]}
    if form == "provider":
        config = RunConfig(model_provider=SelectingProvider(selector, **keep))
    else:
        model = SelectingModel(OpenAIResponsesModel("gpt-5.4", AsyncOpenAI()), selector, **keep)
    agent = Agent("mailer", model=model, tools=[function_tool(f) for f in FUNCTIONS])
    if how == "plain":
        result = await Runner.run(agent, question, run_config=config, max_turns=5)
    else:
        result = Runner.run_streamed(agent, question, run_config=config, max_turns=5)
        async for _ in result.stream_events():
            pass
    finish(result.final_output)


asyncio.run(main(*sys.argv[1:]))
