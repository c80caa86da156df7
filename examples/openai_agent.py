"""An agent with the OpenAI SDK whose model sees the tools it searched for, not all of them.

    pip install . openai
    TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/openai_agent.py "write to a@b.c"

`OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL` say which model.
"""

import json
import os
import sys

import httpx2
from openai import OpenAI
from toolbox import openai_tools, run

from toolscout.discovery import Transport

MAX_STEPS = 10

# The toolbox is small; by default only requests with more than ten tools are searched.
transport = Transport(os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080"), defer_above=5)
model = OpenAI(http_client=httpx2.Client(transport=transport))


def answer(question: str) -> str:
    """Let the model call tools until it has something to say."""
    messages = [{"role": "user", "content": question}]
    for _ in range(MAX_STEPS):
        completion = model.chat.completions.create(
            model=os.environ.get("OPENAI_MODEL", "gpt-4.1"),
            messages=messages,
            tools=openai_tools(),
        )
        message = completion.choices[0].message
        messages.append(message)
        for call in message.tool_calls or []:
            result = run(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if not message.tool_calls:
            return message.content or ""
    return f"no answer after {MAX_STEPS} steps"


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:])))
