"""An agent with boto3 whose model on Bedrock sees the tools it searched for, not all of them.

    pip install . boto3
    TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/bedrock_agent.py "write to a@b.c"

AWS' own variables say which account and region, `BEDROCK_MODEL` which model.
"""

import os
import sys

import boto3
from toolbox import bedrock_tools, run

from toolscout.discovery import ToolDiscovery

MAX_STEPS = 10

bedrock = boto3.client("bedrock-runtime")
discovery = ToolDiscovery(os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080"))


def forward(body):
    """Ask the model; whatever it is given here has the few tools that it is to see."""
    return bedrock.converse(**body)


def answer(question: str) -> str:
    """Let the model call tools until it has something to say."""
    messages = [{"role": "user", "content": [{"text": question}]}]
    for _ in range(MAX_STEPS):
        request = {
            "modelId": os.environ.get("BEDROCK_MODEL", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
            "messages": messages,
            "toolConfig": {"tools": bedrock_tools()},
        }
        response = discovery.complete(request, forward, provider="bedrock")
        message = response["output"]["message"]
        messages.append(message)
        results = [
            {
                "toolResult": {
                    "toolUseId": block["toolUse"]["toolUseId"],
                    "content": [{"text": run(block["toolUse"]["name"], block["toolUse"]["input"])}],
                }
            }
            for block in message["content"]
            if "toolUse" in block
        ]
        if not results:
            return "".join(block.get("text", "") for block in message["content"])
        messages.append({"role": "user", "content": results})
    return f"no answer after {MAX_STEPS} steps"


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:])))
