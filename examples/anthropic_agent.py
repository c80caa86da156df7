"""An agent with the Anthropic SDK whose model sees the tools it searched for, not all of them.

    pip install toolscout anthropic
    TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/anthropic_agent.py "write to a@b.c"

`ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` and `ANTHROPIC_MODEL` say which model.
"""

import asyncio
import os
import sys

from anthropic import AsyncAnthropic
from toolbox import anthropic_tools, run

from toolscout.client import AsyncToolDiscovery

MAX_STEPS = 10

discovery = AsyncToolDiscovery(os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080"))


async def answer(question: str) -> str:
    """Let the model call tools until it has something to say."""
    model = AsyncAnthropic()

    async def forward(body):
        return await model.messages.create(**body)

    messages = [{"role": "user", "content": question}]
    said = f"no answer after {MAX_STEPS} steps"
    for _ in range(MAX_STEPS):
        request = {
            "model": os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-4-5"),
            "max_tokens": 1_024,
            "messages": messages,
            "tools": anthropic_tools(),
        }
        response = await discovery.complete(request, forward, provider="anthropic")
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
            said = "".join(block.text for block in blocks if block.type == "text")
            break
        messages.append({"role": "user", "content": results})
    await discovery.aclose()
    return said


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
