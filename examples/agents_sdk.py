"""An agent of the OpenAI Agents SDK whose model sees the tools it searched for, not all of them.

    pip install . openai-agents
    TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/agents_sdk.py "write to a@b.c"

`OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL` say which model. One of another provider
takes `toolscout.integrations.openai_agents.SelectingProvider` instead of the transport.
"""

import asyncio
import os
import sys

import httpx2
from agents import Agent, Runner, function_tool, set_default_openai_client
from openai import AsyncOpenAI
from toolbox import TOOLS

from toolscout.discovery import AsyncTransport

ENDPOINT = os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080")


async def answer(question: str) -> str:
    """Let the model call tools until it has something to say, in at most 10 turns."""
    http = httpx2.AsyncClient(transport=AsyncTransport(ENDPOINT, defer_above=5))
    set_default_openai_client(AsyncOpenAI(http_client=http), use_for_tracing=False)
    agent = Agent(
        "assistant",
        model=os.environ.get("OPENAI_MODEL", "gpt-5.4"),
        tools=[function_tool(function) for function in TOOLS.values()],
    )
    return (await Runner.run(agent, question, max_turns=10)).final_output


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
