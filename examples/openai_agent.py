"""An agent with the OpenAI SDK whose model sees the tools it searched for, not all of them.

    pip install toolscout openai
    TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/openai_agent.py "write to a@b.c"

`OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL` say which model.
"""

import json
import os
import sys

from openai import OpenAI
from toolbox import openai_tools, run

from toolscout.client import ToolDiscovery

model = OpenAI()
discovery = ToolDiscovery(os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080"))


def forward(body):
    """One call of the model."""
    return model.chat.completions.create(**body)


def answer(question: str) -> str:
    """Let the model call tools until it has something to say."""
    messages = [{"role": "user", "content": question}]
    while True:
        request = {
            "model": os.environ.get("OPENAI_MODEL", "gpt-4.1"),
            "messages": messages,
            "tools": openai_tools(),
        }
        message = discovery.complete(request, forward, provider="openai").choices[0].message
        messages.append(message)
        for call in message.tool_calls or []:
            result = run(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if not message.tool_calls:
            return message.content or ""


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:])))
