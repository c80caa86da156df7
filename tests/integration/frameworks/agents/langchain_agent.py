"""A LangChain agent with a middleware: python langchain_agent.py MODEL HOW QUESTION."""

import asyncio
import os
import sys

from catalog import FUNCTIONS, finish
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from toolscout.client import Selector
from toolscout.integrations.langchain import ToolSearchMiddleware

MODELS = {"gpt-4.1": ChatOpenAI, "claude-sonnet-4-5": ChatAnthropic, "claude-3-7": ChatAnthropic}


async def main(name: str, how: str, question: str) -> None:
    selector = Selector(os.environ["TOOLSCOUT_ENDPOINT"])
    search = ToolSearchMiddleware(selector, top_k=4, always_keep=["spin_7"])
    model = MODELS[name](model=name)
    agent = create_agent(model, [tool(f) for f in FUNCTIONS], middleware=[search])
    asked = {"messages": [{"role": "user", "content": question}]}
    if how == "blocking":
        finish(agent.invoke(asked)["messages"][-1].text)
    elif how == "plain":
        finish((await agent.ainvoke(asked))["messages"][-1].text)
    else:
        pieces = [piece async for piece, _ in agent.astream(asked, stream_mode="messages")]
        finish("".join(piece.text for piece in pieces if piece.type == "AIMessageChunk"))


asyncio.run(main(*sys.argv[1:]))
