"""A LangChain agent: python langchain_agent.py FORM HOW QUESTION.

FORM is openai, responses or anthropic, or middleware for the tools that our middleware selects.
"""

import asyncio
import os
import sys

import httpx2
from catalog import FUNCTIONS, finish
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from toolscout.client import Selector
from toolscout.discovery import AsyncTransport, Transport
from toolscout.integrations.langchain import ToolSelectionMiddleware

URL = os.environ["TOOLSCOUT_ENDPOINT"]


def chat_model(interface: str) -> BaseChatModel:
    if interface == "anthropic":  # takes no client of ours: the test puts the proxy before it
        assert "http_client" not in ChatAnthropic.model_fields
        return ChatAnthropic(model="claude-sonnet-4-5")
    if interface == "middleware":
        return ChatOpenAI(model="gpt-4.1")
    return ChatOpenAI(
        model="gpt-5.4",
        use_responses_api=interface == "responses",
        http_client=httpx2.Client(transport=Transport(URL)),
        http_async_client=httpx2.AsyncClient(transport=AsyncTransport(URL)),
    )


async def main(interface: str, how: str, question: str) -> None:
    middleware = []
    if interface == "middleware":
        selector = Selector(URL)
        middleware = [ToolSelectionMiddleware(selector, top_k=4, always_keep=["spin_7"])]
    agent = create_agent(chat_model(interface), [tool(f) for f in FUNCTIONS], middleware=middleware)
    asked = {"messages": [{"role": "user", "content": question}]}
    if how == "blocking":
        finish(agent.invoke(asked)["messages"][-1].text)
    elif how == "plain":
        finish((await agent.ainvoke(asked))["messages"][-1].text)
    else:
        pieces = [piece async for piece, _ in agent.astream(asked, stream_mode="messages")]
        finish("".join(piece.text for piece in pieces if piece.type == "AIMessageChunk"))


asyncio.run(main(*sys.argv[1:]))
