"""An agent with the Anthropic SDK whose model sees the tools it searched for, not all of them.

    pip install . anthropic
    TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/anthropic_agent.py "write to a@b.c"

`ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` and `ANTHROPIC_MODEL` say which model.
"""

import asyncio
import os
import sys

import httpx2
from anthropic import AsyncAnthropic
from toolbox import anthropic_tools, run

from toolscout.discovery import AsyncTransport

MAX_STEPS = 10
ENDPOINT = os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080")


async def answer(question: str) -> str:
    """Let the model call tools until it has something to say."""
    # The toolbox is small; by default only requests with more than ten tools are searched.
    http = httpx2.AsyncClient(transport=AsyncTransport(ENDPOINT, defer_above=5))
    model = AsyncAnthropic(http_client=http)
    messages = [{"role": "user", "content": question}]
    async with http:
        for _ in range(MAX_STEPS):
            response = await model.messages.create(
                model=os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-4-5"),
                max_tokens=1_024,
                messages=messages,
                tools=anthropic_tools(),
            )
            blocks = response.content
            messages.append({"role": "assistant", "content": blocks})
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": block.id,
                    "content": run(block.name, block.input),
                }
                for block in blocks
                if block.type == "tool_use"
            ]
            if not results:
                return "".join(block.text for block in blocks if block.type == "text")
            messages.append({"role": "user", "content": results})
    return f"no answer after {MAX_STEPS} steps"


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
