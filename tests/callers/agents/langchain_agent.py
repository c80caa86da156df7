"""A LangChain agent."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain.agents.structured_output import ToolStrategy
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from loop import STRUCTURED, Agent, serve
from pydantic import BaseModel

from toolscout.discovery import AsyncTransport


class Answer(BaseModel):
    """The answer."""

    answer: str


URL = os.environ["TOOLSCOUT_ENDPOINT"]


class Forcing(AgentMiddleware):
    """Forces a tool in the first request."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.forced = name

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]
    ) -> Any:
        name, self.forced = self.forced, ""
        return await handler(request.override(tool_choice=name) if name else request)


class LangChain(Agent):
    async def ask(self, question: str) -> None:
        model = ChatOpenAI(
            model="gpt-5.4",
            max_retries=0,
            http_async_client=httpx2.AsyncClient(transport=AsyncTransport(URL)),
        )
        tools = [tool(function) for function in self.tools.functions()]
        form = ToolStrategy(Answer) if STRUCTURED else None
        agent = create_agent(model, tools, middleware=[Forcing(self.forced)], response_format=form)
        asked = {"messages": [*self.messages, {"role": "user", "content": question}]}
        if self.streams:
            async for mode, part in agent.astream(asked, stream_mode=["messages", "values"]):
                if mode == "values":
                    state = part
        else:
            state = await agent.ainvoke(asked)
        self.messages = state["messages"]
        assert not STRUCTURED or isinstance(state["structured_response"], Answer)
        self.forced = ""


serve(LangChain)
