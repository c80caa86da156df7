"""A LangChain agent whose middleware selects its tools: python langchain_agent.py HOW QUESTION."""

import asyncio
import os
import sys

from catalog import FUNCTIONS, finish
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from toolscout.client import Selector
from toolscout.integrations.langchain import ToolSelectionMiddleware


async def main(how: str, question: str) -> None:
    selector = Selector(os.environ["TOOLSCOUT_ENDPOINT"])
    chosen = ToolSelectionMiddleware(selector, top_k=4, always_keep=["spin_7"])
    model = ChatOpenAI(model="gpt-4.1")
    agent = create_agent(model, [tool(f) for f in FUNCTIONS], middleware=[chosen])
    asked = {"messages": [{"role": "user", "content": question}]}
    if how == "blocking":
        finish(agent.invoke(asked)["messages"][-1].text)
    elif how == "plain":
        finish((await agent.ainvoke(asked))["messages"][-1].text)
    else:
        pieces = [piece async for piece, _ in agent.astream(asked, stream_mode="messages")]
        finish("".join(piece.text for piece in pieces if piece.type == "AIMessageChunk"))


asyncio.run(main(*sys.argv[1:]))
