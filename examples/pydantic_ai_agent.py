"""A pydantic-ai agent whose model sees the tools it searched for, not all of them.

    pip install . 'pydantic-ai-slim[anthropic]'
    TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/pydantic_ai_agent.py "write to a@b.c"

`ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` and `ANTHROPIC_MODEL` say which model. For one of another
provider, defer the tools and search them by `toolscout.integrations.pydantic_ai.search_strategy`.
"""

import asyncio
import os
import sys

import httpx2
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from toolbox import TOOLS

from toolscout.discovery import AsyncTransport

ENDPOINT = os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080")


async def answer(question: str) -> str:
    """Let the model call tools until it has something to say, in at most 10 requests."""
    http = httpx2.AsyncClient(transport=AsyncTransport(ENDPOINT, defer_above=5))
    provider = AnthropicProvider(api_key=os.environ["ANTHROPIC_API_KEY"], http_client=http)
    name = os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-4-5")
    agent = Agent(AnthropicModel(name, provider=provider), tools=list(TOOLS.values()))
    return (await agent.run(question, usage_limits=UsageLimits(request_limit=10))).output


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
