"""A LangChain agent whose model sees the tools it searched for, not all of them.

    pip install . langchain langchain-openai
    TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/langchain_agent.py "write to a@b.c"

`OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL` say which model. One of another provider
takes `toolscout.integrations.langchain.ToolSearchMiddleware` instead of the transport.
"""

import os
import sys

import httpx2
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from toolbox import TOOLS

from toolscout.discovery import AsyncTransport, Transport

url = os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080")
model = ChatOpenAI(
    model=os.environ.get("OPENAI_MODEL", "gpt-4.1"),
    http_client=httpx2.Client(transport=Transport(url, defer_above=5)),
    http_async_client=httpx2.AsyncClient(transport=AsyncTransport(url, defer_above=5)),
)
agent = create_agent(model, list(TOOLS.values()))


def answer(question: str) -> str:
    """Let the model call tools until it has something to say, in at most 20 steps."""
    asked = {"messages": [{"role": "user", "content": question}]}
    return agent.invoke(asked, {"recursion_limit": 20})["messages"][-1].text


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:])))
